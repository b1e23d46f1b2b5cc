"""The folder that remembers: the ledger's file and the two keys, for the owner's eyes only."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from dpfy.errors import SourceError, SpecError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

__all__ = ["Workspace"]

_VARIABLE = "DPFY_HOME"
_KEY_BYTES = 32
_LEDGER = "ledger.sqlite"


@dataclass(frozen=True, kw_only=True)
class Workspace:
    """A workspace folder.

    Args:
        folder: exists, mode 0700.
        newly_made: there was no ledger in it.
    """

    folder: Path
    newly_made: bool = field(default=False, compare=False)

    @classmethod
    def locate(cls, path: Path | str | None = None) -> Workspace:
        """Finds the workspace, and creates it if need be.

        Args:
            path: the folder; left out, $DPFY_HOME, or else `.dpfy` in the current folder.

        Raises:
            SpecError: the folder can't be created or written.
        """
        folder = Path(path or os.environ.get(_VARIABLE) or ".dpfy")
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise _unusable(folder, error) from None
        if not os.access(folder, os.W_OK | os.X_OK):
            raise SpecError(
                f"a workspace folder that can be written was expected; {folder} is read-only.",
                hint=f"Set ${_VARIABLE} to another folder.",
            )
        place = cls(folder=folder, newly_made=not (folder / _LEDGER).exists())
        if place.newly_made:
            # Keys come before the ledger: a ledger without keys has lost them.
            _ = place.fingerprint_key, place.signing_key
        return place

    @property
    def notes(self) -> tuple[str, ...]:
        """What the owner should know of the folder."""
        if not self.newly_made:
            return ()
        return (
            f"the workspace {self.folder} is new. It remembers what is spent: keep it, and name it in every run "
            f"(--workspace or ${_VARIABLE}).",
        )

    def check_keys(self) -> None:
        """Makes sure that both keys are there and whole.

        Raises:
            SourceError: when one is lost or changed.
        """
        _ = self.fingerprint_key, self.signing_key

    @property
    def ledger_path(self) -> Path:
        """The ledger's file."""
        return self.folder / _LEDGER

    @property
    def fingerprint_key(self) -> bytes:
        """32 random bytes that make fingerprints useless to whoever lacks them; made with the workspace."""
        path = self.folder / "fingerprint.key"
        key = self._read_or_create(path, lambda: os.urandom(_KEY_BYTES))
        if len(key) != _KEY_BYTES:
            raise SourceError(
                f"a key of {_KEY_BYTES} bytes was expected in {path}; the file was changed.", file=str(path)
            )
        return key

    @property
    def signing_key(self) -> Ed25519PrivateKey:
        """The Ed25519 key that signs statements and certificates (PKCS8 PEM); made with the workspace."""
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        path = self.folder / "signing.pem"
        pem = self._read_or_create(
            path,
            lambda: Ed25519PrivateKey.generate().private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            ),
        )
        try:
            key = serialization.load_pem_private_key(pem, password=None)
        except ValueError:
            key = None
        if not isinstance(key, Ed25519PrivateKey):
            raise SourceError(f"an Ed25519 private key was expected in {path}; the file was changed.", file=str(path))
        return key

    def fingerprint(self, content_digest: bytes) -> str:
        """A keyed fingerprint of a data set's content, for the ledger: hex, 64 characters."""
        return hmac.new(self.fingerprint_key, b"content" + content_digest, hashlib.sha256).hexdigest()

    def _read_or_create(self, path: Path, make: Callable[[], bytes]) -> bytes:
        had_ledger = self.ledger_path.exists()  # looked at first: another process may be making all of it
        try:
            return path.read_bytes()
        except FileNotFoundError:
            if had_ledger:
                raise SourceError(
                    f"the key {path} was expected beside the ledger; it is lost.",
                    hint="Put back a copy of it. With a new key the ledger would not know its data sets again.",
                    file=str(path),
                ) from None
        except OSError as error:
            raise _unusable(path, error) from None
        # Written whole under another name and linked in place: of several processes one wins, nobody sees a
        # part.
        draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        try:
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(make())
                    file.flush()
                    os.fsync(file.fileno())
                with contextlib.suppress(FileExistsError):
                    os.link(draft, path)
            finally:
                draft.unlink(missing_ok=True)
            _sync_folder(self.folder)
            return path.read_bytes()
        except OSError as error:
            raise _unusable(path, error) from None


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unusable(path: Path, error: OSError) -> SpecError:
    return SpecError(
        f"the workspace needs to read and write {path}, which the system refuses: {error.strerror}.",
        hint=f"Mend its permissions, or set ${_VARIABLE} to another folder.",
    )
