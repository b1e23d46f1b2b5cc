"""The owner's rules, applied to drawn values until every row keeps them."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfy.domain.rules import Follows, Ordered, Rule, When
from dpfy.errors import SpecError
from dpfy.schema import ColumnKind, ColumnSpec

_PASSES = 4


@dataclass
class DrawnColumn:
    """One column of drawn rows.

    Args:
        values: int64 ticks, float64, or text as object.
        missing: bool mask.
    """

    values: NDArray[Any]
    missing: NDArray[np.bool_]

    def copy(self) -> DrawnColumn:
        """An independent copy."""
        return DrawnColumn(self.values.copy(), self.missing.copy())


def apply_rules(
    columns: MutableMapping[str, DrawnColumn], rules: Sequence[Rule], specs: Mapping[str, ColumnSpec]
) -> None:
    """Mends rows that break a rule; `follows` was applied where rows were drawn.

    Args:
        columns: drawn columns by name; changed in place.
        rules: in the owner's order.
        specs: column specifications by name.

    Raises:
        SpecError: when the rules contradict each other.
    """
    mended = [rule for rule in rules if not isinstance(rule, Follows)]
    for _ in range(_PASSES):
        changed = False
        for rule in mended:
            changed |= (
                _apply_when(columns, rule, specs) if isinstance(rule, When) else _apply_order(columns, rule, specs)
            )
        if not changed:
            return
    raise SpecError("the rules contradict each other: no row can keep all of them.", hint="Read them together.")


def _same(column: DrawnColumn, value: str | None, spec: ColumnSpec) -> NDArray[np.bool_]:
    if value is None:
        return column.missing
    return np.asarray((column.values == _physical(value, spec)) & ~column.missing, dtype=bool)


def _physical(value: str, spec: ColumnSpec) -> Any:
    return value if spec.physical == "text" else spec.tick(value)


def _apply_when(columns: MutableMapping[str, DrawnColumn], rule: When, specs: Mapping[str, ColumnSpec]) -> bool:
    hit = _same(columns[rule.column], rule.equals, specs[rule.column])
    then, spec = columns[rule.then_column], specs[rule.then_column]
    wrong = hit & ~_same(then, rule.then_equals, spec)
    if not wrong.any():
        return False
    if rule.then_equals is None:
        then.missing = then.missing | wrong
    else:
        then.values[wrong] = _physical(rule.then_equals, spec)
        then.missing = then.missing & ~wrong
    return True


def _apply_order(columns: MutableMapping[str, DrawnColumn], rule: Ordered, specs: Mapping[str, ColumnSpec]) -> bool:
    low, high = columns[rule.low], columns[rule.high]
    scale_low, scale_high = _scale(specs[rule.low]), _scale(specs[rule.high])
    a: NDArray[Any] = low.values * scale_high
    b: NDArray[Any] = high.values * scale_low
    wrong = ~low.missing & ~high.missing & (a > b)
    if not wrong.any():
        return False
    if specs[rule.low].static and not specs[rule.high].static:
        high.values[wrong] = _within(-_divided(-a[wrong], scale_low), specs[rule.high])
    elif specs[rule.high].static and not specs[rule.low].static:
        low.values[wrong] = _within(_divided(b[wrong], scale_high), specs[rule.low])
    else:
        # Exchanged, both columns keep their values; places are converted where they differ.
        new_low, new_high = _divided(b[wrong], scale_high), -_divided(-a[wrong], scale_low)
        low.values[wrong] = _within(new_low, specs[rule.low])
        high.values[wrong] = _within(new_high, specs[rule.high])
    return True


def _scale(spec: ColumnSpec) -> int:
    """Ticks of one unit, so that columns with different places compare."""
    return int(10**spec.decimals) if spec.type is ColumnKind.DECIMAL else 1


def _divided(values: NDArray[Any], by: int) -> NDArray[Any]:
    """Whole numbers are divided downwards, so that the order holds after rounding too."""
    if by == 1:
        return values
    return np.asarray(values / by if values.dtype.kind == "f" else values // by)


def _within(values: NDArray[np.generic], spec: ColumnSpec) -> NDArray[np.generic]:
    return values if spec.bounds is None else np.clip(values, *spec.bounds)


def check_rules(rules: Sequence[Rule], specs: Mapping[str, ColumnSpec]) -> None:
    """Checks that each rule fits its columns, before anything is read or spent.

    Raises:
        SpecError: for a rule that its columns can't keep.
    """
    _check_cycles(rules)
    for rule in rules:
        if isinstance(rule, Ordered):
            kinds = [_family(specs[name]) for name in (rule.low, rule.high)]
            if kinds[0] != kinds[1] or kinds[0] is None:
                raise SpecError(
                    f"the rule {rule.low!r} <= {rule.high!r} needs two columns of numbers, or two of dates of one type."
                )
        if isinstance(rule, When):
            for name, value in ((rule.column, rule.equals), (rule.then_column, rule.then_equals)):
                if value is not None:
                    _physical(value, specs[name])
        for name in (n for n in (getattr(rule, a, None) for a in ("column", "of", "then_column", "low", "high")) if n):
            if not specs[name].is_modelled:
                raise SpecError(f"a rule speaks of the column {name!r}, which is a key, empty or dropped.")


def _check_cycles(rules: Sequence[Rule]) -> None:
    """Orders that run in a circle leave no row that keeps them."""
    above: dict[str, set[str]] = {}
    for rule in rules:
        if isinstance(rule, Ordered):
            above.setdefault(rule.low, set()).add(rule.high)
    for start in above:
        waiting, seen = list(above[start]), set()
        while waiting:
            name = waiting.pop()
            if name == start:
                raise SpecError(f"the rules order the column {start!r} in a circle.", hint="Leave one of them out.")
            if name not in seen:
                seen.add(name)
                waiting += above.get(name, ())


def _family(spec: ColumnSpec) -> str | None:
    if spec.type in (ColumnKind.INTEGER, ColumnKind.DECIMAL, ColumnKind.FLOAT):
        return "number"
    if spec.type in (ColumnKind.DATE, ColumnKind.DATETIME, ColumnKind.TIME, ColumnKind.DURATION):
        return f"{spec.type}/{spec.unit}"
    return None
