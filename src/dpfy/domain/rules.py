"""Cross-column rules that the owner states as public knowledge.

Grammar (names with spaces stand in double quotes):

    education_num follows education
    if married = no then spouse_age is missing
    if plan = basic then fee = 0
    start <= end
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dpfy.errors import SpecError

_NAME = r'"(?:[^"]+)"|[^\s"<>=]+'
_FOLLOWS = re.compile(rf"^({_NAME})\s+follows\s+({_NAME})$")
_WHEN = re.compile(rf"^if\s+({_NAME})\s*(?:=\s*(.+?)|is\s+(missing))\s+then\s+({_NAME})\s*(?:=\s*(.+)|is\s+(missing))$")
_ORDER = re.compile(rf"^({_NAME})\s*(<=|>=)\s*({_NAME})$")


@dataclass(frozen=True, kw_only=True)
class Follows:
    """A column is a function of another; the function is learned from a measured pair."""

    column: str
    of: str


@dataclass(frozen=True, kw_only=True)
class When:
    """Where a column has a value (None: is missing), another has a value (None: is missing)."""

    column: str
    equals: str | None
    then_column: str
    then_equals: str | None


@dataclass(frozen=True, kw_only=True)
class Ordered:
    """One column is at most another, wherever both are there."""

    low: str
    high: str


Rule = Follows | When | Ordered


@dataclass(frozen=True, kw_only=True)
class Following:
    """A learned function: each code of one model column fixes the code and the value of another.

    Args:
        column: index of the following model column.
        of: index of the model column that it follows.
        codes: code of the follower for each code.
        keys: key of the follower for each code; None for categories, whose code says it all.
    """

    column: int
    of: int
    codes: tuple[int, ...]
    keys: tuple[int, ...] | None


def _bare(name: str) -> str:
    return name[1:-1] if name.startswith('"') and name.endswith('"') and len(name) > 1 else name


def parse_rule(text: str) -> Rule:
    """Reads one rule.

    Raises:
        SpecError: for a text that is no rule.
    """
    stripped = text.strip()
    if match := _FOLLOWS.match(stripped):
        return Follows(column=_bare(match[1]), of=_bare(match[2]))
    if match := _WHEN.match(stripped):
        return When(
            column=_bare(match[1]),
            equals=None if match[3] else _bare(match[2].strip()),
            then_column=_bare(match[4]),
            then_equals=None if match[6] else _bare(match[5].strip()),
        )
    if match := _ORDER.match(stripped):
        low, high = (match[1], match[3]) if match[2] == "<=" else (match[3], match[1])
        return Ordered(low=_bare(low), high=_bare(high))
    raise SpecError(
        f"the rule {text!r} can't be read.",
        hint='Write "b follows a", "if a = x then b is missing", "if a = x then b = y" or "a <= b".',
    )


def columns_of(rule: Rule) -> tuple[str, str]:
    """The two columns that a rule speaks of."""
    match rule:
        case Follows():
            return rule.of, rule.column
        case When():
            return rule.column, rule.then_column
        case Ordered():
            return rule.low, rule.high


def parse_rules(texts: Sequence[str], names: Sequence[str]) -> tuple[Rule, ...]:
    """Reads rules and checks their columns.

    Args:
        texts: as the owner wrote them.
        names: the table's columns.

    Raises:
        SpecError: for an unreadable rule, an unknown column, or two rules by which one column follows.
    """
    rules = tuple(parse_rule(text) for text in texts)
    followers: set[str] = set()
    for text, rule in zip(texts, rules, strict=True):
        for name in columns_of(rule):
            if name not in names:
                raise SpecError(f"the rule {text!r} names the column {name!r}, which the table does not have.")
        if len(set(columns_of(rule))) == 1:
            raise SpecError(f"the rule {text!r} speaks of one column twice.")
        if isinstance(rule, Follows):
            if rule.column in followers:
                raise SpecError(f"the column {rule.column!r} follows two columns; keep one of the rules.")
            followers.add(rule.column)
    return rules
