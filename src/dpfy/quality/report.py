"""Writes the report: one HTML page and the same figures as strict JSON."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from dpfy.errors import SpecError
from dpfy.quality.figures import QualityFigures
from dpfy.quality.page import BANNER, build_page


class ReportDocument(BaseModel):
    """The content of report.json. `ReportDocument.model_json_schema()` gives its JSON Schema."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    format: Literal["dpfy-quality-report"] = "dpfy-quality-report"
    version: Literal[1] = 1
    warning: str = BANNER
    title: str
    statement: dict[str, Any]
    figures: QualityFigures


@dataclass(frozen=True, kw_only=True)
class ReportFiles:
    """Where the report lies."""

    html: Path
    json: Path


def write_report(figures: QualityFigures, statement: Mapping[str, Any], folder: Path, *, title: str) -> ReportFiles:
    """Writes report.html and report.json; on an error both stay as they were.

    **Privacy:** both files hold figures of the raw data, outside the guarantee. They are made readable
    to their owner
    alone and must stay in the red zone.

    Args:
        figures: what `compare` found.
        statement: the statement of the synthetic table; keys that it lacks are left out of the page.
        folder: made if needed.
        title: the heading of the page.

    Returns:
        The paths of the two files.

    Raises:
        SpecError: when the folder can't be made or written to.
    """
    plain = _strict(dict(statement))
    document = ReportDocument(title=title, statement=plain, figures=figures)
    texts = {
        "report.json": json.dumps(document.model_dump(mode="json"), allow_nan=False, ensure_ascii=False, indent=1),
        "report.html": build_page(figures, plain, title),
    }
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
        _write_all(target, texts)
    except OSError as error:
        raise SpecError(
            f"The report's folder {str(target)!r} must be writable; the system says: {error.strerror}.",
            hint="Name another folder.",
        ) from None
    return ReportFiles(html=target / "report.html", json=target / "report.json")


def _write_all(folder: Path, texts: Mapping[str, str]) -> None:
    """All texts are on disk under other names before the first takes its place."""
    waiting = {folder / name: folder / f".{name}.{os.getpid()}.part" for name in texts}
    try:
        for path, part in waiting.items():
            handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as stream:
                stream.write(texts[path.name])
                stream.flush()
                os.fsync(stream.fileno())
        for path, part in waiting.items():
            os.replace(part, path)
    finally:
        for part in waiting.values():
            part.unlink(missing_ok=True)


def _strict(value: Any) -> Any:
    """The value as JSON knows it: no NaN or infinity (null), names and unknown objects as text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_strict(item) for item in value]
    return str(value)
