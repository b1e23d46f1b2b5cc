"""The .dpfy file: JSON and arrays, each with a digest, under one signature. No pickle anywhere."""

from __future__ import annotations

import hashlib
import io
import json
import os
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpfy.errors import SealBrokenError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

FORMAT = 1
_MEMBERS = ("statement.json", "generator.json", "arrays.npz")
_LARGEST_MEMBER = 1 << 31


@dataclass(frozen=True, kw_only=True)
class SealedParts:
    """What a sealed generator holds: nothing but released values.

    Args:
        statement: the privacy statement.
        generator: family, schema, domains, rules and the model's plain data.
        arrays: the model's arrays.
        signed_by: hex of the public key that signed it; empty before it is written.
    """

    statement: Mapping[str, Any]
    generator: Mapping[str, Any]
    arrays: Mapping[str, NDArray[np.generic]]
    signed_by: str = ""


def write_sealed(path: Path, parts: SealedParts, key: Ed25519PrivateKey) -> None:
    """Writes a sealed generator, whole or not at all.

    Args:
        path: the file; an existing one is replaced at the end.
        parts: what to seal.
        key: the workspace's signing key.
    """
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **dict(parts.arrays))
    members = {
        "statement.json": _dump(parts.statement),
        "generator.json": _dump(parts.generator),
        "arrays.npz": buffer.getvalue(),
    }
    public = key.public_key().public_bytes_raw().hex()
    manifest = _dump(
        {
            "format": FORMAT,
            "public_key": public,
            "sha256": {name: hashlib.sha256(data).hexdigest() for name, data in members.items()},
        }
    )
    members = {"manifest.json": manifest, "signature": key.sign(manifest), **members}
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".sealing-")
    try:
        with os.fdopen(handle, "wb") as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for member, data in members.items():
                # A fixed date: the file's bytes depend on what is sealed alone.
                archive.writestr(zipfile.ZipInfo(member, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read_sealed(path: Path, *, statement_only: bool = False) -> SealedParts:
    """Reads a sealed generator and checks signature and digests.

    Args:
        path: the file.
        statement_only: checks everything, but leaves the arrays unread.

    Raises:
        SealBrokenError: when the file is none, is damaged, or was changed after sealing.
    """
    try:
        members = _members(path)
        manifest = json.loads(members["manifest.json"])
        _verify(members, manifest)
        arrays: dict[str, NDArray[np.generic]] = {}
        if not statement_only:
            with np.load(io.BytesIO(members["arrays.npz"]), allow_pickle=False) as held:
                arrays = {name: held[name] for name in held.files}
        return SealedParts(
            statement=json.loads(members["statement.json"]),
            generator=json.loads(members["generator.json"]),
            arrays=arrays,
            signed_by=manifest["public_key"],
        )
    except FileNotFoundError:
        raise SealBrokenError(f"there is no file {path.name!r}.") from None
    except (
        zipfile.BadZipFile,
        zlib.error,
        struct.error,
        KeyError,
        ValueError,
        OSError,
        EOFError,
        TypeError,
        RuntimeError,
        NotImplementedError,
    ):
        raise SealBrokenError(
            f"{path.name!r} is no sealed generator, or it is damaged.", hint="Get it again from where it was made."
        ) from None


def _members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        if len(names) != len(set(names)) or set(names) != {"manifest.json", "signature", *_MEMBERS}:
            raise SealBrokenError(f"{path.name!r} holds other parts than a sealed generator has.")
        if any(info.file_size > _LARGEST_MEMBER for info in archive.infolist()):
            raise SealBrokenError(f"{path.name!r} holds a part that is larger than any sealed generator's.")
        return {name: archive.read(name) for name in names}


def _verify(members: Mapping[str, bytes], manifest: Mapping[str, Any]) -> None:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    if manifest["format"] != FORMAT:
        raise SealBrokenError(
            f"the sealed generator has format {manifest['format']}; this dpfy reads {FORMAT}.",
            hint="Use the dpfy that made it, or a newer one.",
        )
    try:
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(manifest["public_key"]))
        public.verify(members["signature"], members["manifest.json"])
    except InvalidSignature:
        raise SealBrokenError("the sealed generator was changed after it was sealed.") from None
    for name in _MEMBERS:
        if hashlib.sha256(members[name]).hexdigest() != manifest["sha256"][name]:
            raise SealBrokenError(f"the sealed generator was changed after it was sealed ({name}).")


def _dump(data: Mapping[str, Any]) -> bytes:
    return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=True).encode()
