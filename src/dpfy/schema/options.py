"""How a source is read: every choice is automatic where the file proves it, and can be set."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

LARGEST_CELL = 16_000_000


class ReadingOptions(BaseModel):
    """Reading choices; the command line offers each under the same name.

    Args:
        separator: one character between cells, or "auto".
        decimal_mark: "." or ",".
        thousands: the mark between groups of three digits, or "none".
        encoding: such as "utf-8", "utf-16" or "cp1252".
        header: whether the first line holds the columns' names; without one they are column_1, column_2 ...
        quote: the character around cells that hold separators or line breaks.
        line_end: what ends the lines of text output; reading takes both.
        missing_markers: cells that mean missing, beside the empty cell.
        dates: which of two numbers is the day where the file does not prove it; "strict" refuses such a column.
        date_formats: pattern by column, such as {"seen": "%d/%m/%Y"}.
        exclude: columns that are not read at all.
        blanks: whether blanks around words are kept (they then count as part of the value) or stripped.
            Names are always stripped; blanks around numbers and dates never count.
        largest_cell: characters that one cell may have at most.
        file_format: what the files are, when their suffix does not say so.
        compression: how the files are packed, when their suffix does not say so.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    separator: str = "auto"
    decimal_mark: Literal["auto", ".", ","] = "auto"
    thousands: Literal["auto", "none", ".", ",", " ", "'"] = "auto"
    encoding: str = "auto"
    header: Literal["auto", "yes", "no"] = "auto"
    quote: str = '"'
    line_end: Literal["auto", "lf", "crlf"] = "auto"
    missing_markers: tuple[str, ...] = ()
    dates: Literal["auto", "day_first", "month_first", "strict"] = "auto"
    date_formats: dict[str, str] = Field(default_factory=dict)
    exclude: tuple[str, ...] = ()
    blanks: Literal["keep", "strip"] = "keep"
    largest_cell: int = Field(default=LARGEST_CELL, ge=1, le=1_000_000_000)
    file_format: Literal["auto", "csv", "jsonl", "parquet"] = "auto"
    compression: Literal["auto", "none", "gzip", "zstd"] = "auto"

    @field_validator("header", mode="before")
    @classmethod
    def _header(cls, value: Any) -> Any:
        return {True: "yes", False: "no"}.get(value, value) if isinstance(value, bool) else value

    @field_validator("separator")
    @classmethod
    def _separator(cls, value: str) -> str:
        named = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
        value = named.get(value, value)
        if value != "auto" and (len(value) != 1 or value in '\r\n"' or not value.isascii()):
            raise ValueError("expected one ASCII character, tab, comma, semicolon, pipe or auto")
        return value

    @field_validator("quote")
    @classmethod
    def _quote(cls, value: str) -> str:
        if len(value) != 1 or value in "\r\n" or not value.isascii():
            raise ValueError("expected one ASCII character")
        return value

    @field_validator("encoding")
    @classmethod
    def _encoding(cls, value: str) -> str:
        import codecs

        if value == "auto":
            return value
        try:
            return codecs.lookup(value).name
        except LookupError:
            raise ValueError("expected an encoding such as utf-8, utf-16 or cp1252") from None
