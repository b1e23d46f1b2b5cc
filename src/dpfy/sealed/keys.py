"""Fresh unique values for key columns and user ids, by pattern."""

from __future__ import annotations

import math
import re
import string
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpfy.errors import SpecError

_TOKEN = re.compile(r"\\d|\[[^\]]+\]|\\.|.", re.DOTALL)
_REPEAT = re.compile(r"\{(\d{1,3})\}")


@dataclass(frozen=True, kw_only=True)
class KeyPattern:
    """A pattern such as ``case-[0-9]{4}``: literals, ``\\d``, classes, ``{n}``.

    Args:
        alphabets: the characters that may stand at each place.
    """

    alphabets: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> KeyPattern:
        """Reads a pattern.

        Raises:
            SpecError: for an empty or unclosed class, a class that runs backwards, or an empty pattern.
        """
        alphabets: list[str] = []
        place = 0
        while place < len(text):
            token = _TOKEN.match(text, place)
            assert token is not None
            place = token.end()
            letters = _alphabet(token[0], text)
            times = 1
            if repeat := _REPEAT.match(text, place):
                times, place = int(repeat[1]), repeat.end()
            alphabets += [letters] * times
        if not alphabets:
            raise SpecError("a key pattern is empty.", hint="Write for instance key_pattern: 'case-[0-9]{6}'.")
        return cls(alphabets=tuple(alphabets))

    @property
    def capacity(self) -> int:
        """How many different values there are."""
        return math.prod(len(a) for a in self.alphabets)

    def spell(self, indices: NDArray[np.int64], step: int, offset: int) -> list[str]:
        """Values number (index * step + offset) mod capacity; distinct as long as indices are."""
        capacity = self.capacity
        places = [(int(i) * step + offset) % capacity for i in indices]
        columns: list[list[str]] = []
        for alphabet in reversed(self.alphabets):
            size = len(alphabet)
            if size == 1:
                columns.append([alphabet] * len(places))
                continue
            columns.append([alphabet[p % size] for p in places])
            places = [p // size for p in places]
        columns.reverse()
        return ["".join(letters) for letters in zip(*columns, strict=True)]


def _alphabet(token: str, text: str) -> str:
    if token == "\\d":
        return string.digits
    if token == "[":
        raise SpecError(
            f"the key pattern {text!r} has a [ that is not closed, or has nothing inside.",
            hint="Write \\[ for the character itself.",
        )
    if token.startswith("[") and token.endswith("]") and len(token) > 2:
        inside, letters, place = token[1:-1], "", 0
        while place < len(inside):
            if place + 2 < len(inside) and inside[place + 1] == "-":
                first, last = ord(inside[place]), ord(inside[place + 2])
                if first > last:
                    raise SpecError(f"the key pattern {text!r} has a class that runs backwards.")
                letters += "".join(chr(c) for c in range(first, last + 1))
                place += 3
            else:
                letters += inside[place]
                place += 1
        return "".join(dict.fromkeys(letters))
    if token.startswith("\\") and len(token) == 2:
        return token[1]
    return token


DEFAULT_TEXT = "[a-z][a-z0-9]{9}"


@dataclass(frozen=True, kw_only=True)
class KeyMaker:
    """Draws a column of fresh unique values; batches that follow each other never repeat one.

    Args:
        pattern: what they look like; None for whole numbers 1, 2, 3, ...
        step: coprime to the pattern's capacity.
        offset: where to begin.
        column: for messages.
    """

    pattern: KeyPattern | None
    step: int
    offset: int
    column: str

    @classmethod
    def fresh(cls, pattern: str | None, column: str, rng: np.random.Generator) -> KeyMaker:
        """Makes a maker with a random start."""
        if pattern is None:
            return cls(pattern=None, step=1, offset=1, column=column)
        parsed = KeyPattern.parse(pattern)
        capacity = parsed.capacity
        most = min(capacity, 2**62)
        step = int(rng.integers(1, max(2, most)))
        while math.gcd(step, capacity) != 1:
            step += 1
        return cls(pattern=parsed, step=step, offset=int(rng.integers(0, most)), column=column)

    def check(self, needed: int) -> None:
        """Makes sure that there are enough values.

        Raises:
            SpecError: when the pattern has too few.
        """
        if self.pattern is not None and needed > self.pattern.capacity:
            raise SpecError(
                f"column {self.column!r} needs {needed} different keys, but its pattern allows "
                f"{self.pattern.capacity}.",
                hint="Widen key_pattern in the schema, or ask for fewer rows.",
            )

    def values(self, indices: NDArray[np.int64]) -> Sequence[str] | NDArray[np.int64]:
        """Values of these indices: text by the pattern, or whole numbers."""
        if self.pattern is None:
            return indices + self.offset
        return self.pattern.spell(indices, self.step, self.offset)
