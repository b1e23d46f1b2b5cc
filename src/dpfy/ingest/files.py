"""Which files a source is made of, and their bytes."""

from __future__ import annotations

import glob
import hashlib
import hmac
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dpfy.errors import SourceError

if TYPE_CHECKING:
    from dpfy.schema import ReadingOptions

Format = Literal["csv", "jsonl", "parquet"]
Packing = Literal["none", "gzip", "zstd"]

_FORMATS: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".txt": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_PACKINGS: dict[str, Packing] = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd"}
_KNOWN = ".csv, .tsv, .txt, .jsonl, .ndjson or .parquet (also .gz and .zst)"
_CHUNK = 4 << 20


@dataclass(frozen=True, kw_only=True)
class SourceFile:
    """One file of a source.

    Args:
        path: where it is.
        name: what it is called in messages.
        format: what it holds.
        packing: how it is packed.
    """

    path: Path
    name: str
    format: Format
    packing: Packing

    @property
    def stem(self) -> str:
        """The file's name without its suffixes."""
        return _stem(self.path)

    @contextmanager
    def open(self) -> Iterator[Any]:
        """A stream of unpacked bytes.

        Raises:
            SourceError: when the file can't be opened or unpacked.
        """
        import pyarrow as pa

        try:
            with pa.input_stream(str(self.path), compression=None if self.packing == "none" else self.packing) as s:
                yield s
        except SourceError:
            raise
        except pa.ArrowInvalid:
            raise
        except OSError:
            raise SourceError(
                f"{self.name}: the file can't be read" + (f" as {self.packing}." if self.packing != "none" else "."),
                hint="Check its permissions, its suffix, and that it is complete.",
                file=self.name,
            ) from None

    def chunks(self) -> Iterator[bytes]:
        """Unpacked bytes, piece by piece."""
        with self.open() as stream:
            while piece := stream.read(_CHUNK):
                yield piece


def find_files(source: str | Path | Sequence[str | Path], options: ReadingOptions) -> tuple[SourceFile, ...]:
    """The files behind a path, folder, glob or list of them, sorted by name within each.

    Raises:
        SourceError: when there are none, or they are of different formats.
    """
    given = [source] if isinstance(source, (str, Path)) else list(source)
    if not given:
        raise SourceError("expected at least one file as source, got an empty list.")
    files = tuple(_source_file(path, options) for item in given for path in _expand(item))
    formats = {f.format for f in files}
    if len(formats) > 1:
        odd = next(f for f in files if f.format != files[0].format)
        raise SourceError(
            f"{odd.name} is {odd.format}, but {files[0].name} is {files[0].format}: the files of one source must "
            "have one format, since the same id may be a number in one and text in the other.",
            hint="Convert them to one format first.",
            file=odd.name,
        )
    return files


def _expand(item: str | Path) -> list[Path]:
    path = Path(item).expanduser()
    if path.is_dir():
        found = sorted(p for p in path.iterdir() if p.is_file() and _is_table(p))
        if not found:
            raise SourceError(f"no table in the folder {str(item)!r}.", hint=f"Expected files {_KNOWN}.")
        return found
    if path.exists():
        return [path]
    text = str(path)
    if any(c in text for c in "*?["):
        found = sorted(Path(p) for p in glob.glob(text, recursive=True) if Path(p).is_file())
        if found:
            return found
        raise SourceError(f"no file matches {str(item)!r}.")
    raise SourceError(f"there is no file {str(item)!r}.", hint="Check the path.", file=str(item))


def _is_table(path: Path) -> bool:
    return not path.name.startswith((".", "_")) and _suffixes(path)[0] is not None


def _suffixes(path: Path) -> tuple[Format | None, Packing]:
    suffixes = [s.lower() for s in path.suffixes]
    packing: Packing = "none"
    if suffixes and suffixes[-1] in _PACKINGS:
        packing = _PACKINGS[suffixes.pop()]
    return (_FORMATS.get(suffixes[-1]) if suffixes else None), packing


def _stem(path: Path) -> str:
    name = path.name
    for suffix in reversed(path.suffixes):
        if suffix.lower() not in _FORMATS and suffix.lower() not in _PACKINGS:
            break
        name = name[: -len(suffix)]
    return name or path.name


def _source_file(path: Path, options: ReadingOptions) -> SourceFile:
    kind, packing = _suffixes(path)
    if options.file_format != "auto":
        kind = options.file_format
    if options.compression != "auto":
        packing = options.compression
    if kind is None:
        raise SourceError(
            f"{path.name}: expected a file {_KNOWN}.",
            hint="Set file_format when the suffix does not say what it is.",
            file=path.name,
        )
    if kind == "parquet" and packing != "none":
        raise SourceError(f"{path.name}: a packed Parquet file can't be read.", hint="Unpack it.", file=path.name)
    return SourceFile(path=path, name=path.name, format=kind, packing=packing)


def fingerprint_files(files: Iterable[SourceFile], key: bytes) -> str:
    """HMAC-SHA256 over the bytes of all files as they are stored, in order.

    Args:
        files: the source's files.
        key: secret key; without it nobody can test a guess of the content.

    Returns:
        64 hex digits.
    """
    digest = hmac.new(key, digestmod=hashlib.sha256)
    for file in files:
        size = file.path.stat().st_size
        # The length in front of each file keeps "ab" + "c" apart from "a" + "bc".
        digest.update(f"{size}:".encode())
        with file.path.open("rb") as stream:
            while piece := stream.read(_CHUNK):
                digest.update(piece)
    return digest.hexdigest()
