"""Rules are read, checked, and kept by every row."""

from __future__ import annotations

import numpy as np
import pytest

from dpfy.domain.rules import Follows, Ordered, When, parse_rule, parse_rules
from dpfy.errors import SpecError
from dpfy.schema import ColumnSpec
from dpfy.sealed.apply_rules import DrawnColumn, apply_rules, check_rules


def spec(name: str, kind: str = "integer", **more: object) -> ColumnSpec:
    return ColumnSpec(name=name, type=kind, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("b follows a", Follows(column="b", of="a")),
        ('"the b" follows "an a"', Follows(column="the b", of="an a")),
        ("if a = no then b is missing", When(column="a", equals="no", then_column="b", then_equals=None)),
        ("if a is missing then b = 0", When(column="a", equals=None, then_column="b", then_equals="0")),
        ('if a = "x y" then b = z', When(column="a", equals="x y", then_column="b", then_equals="z")),
        ("a <= b", Ordered(low="a", high="b")),
        ("a >= b", Ordered(low="b", high="a")),
    ],
)
def test_rules_are_read(text: str, rule: object) -> None:
    assert parse_rule(text) == rule


@pytest.mark.parametrize("text", ["", "a", "a < b", "a follows", "if a then b", "a = b"])
def test_what_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(SpecError):
        parse_rule(text)


def test_unknown_columns_and_double_followers_are_refused() -> None:
    for texts in (["a <= x"], ["b follows a", "b follows c"], ["a <= a"]):
        with pytest.raises(SpecError):
            parse_rules(texts, ["a", "b", "c"])


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (spec("a"), spec("b")),
        (spec("a", "decimal", decimals=2), spec("b")),
        (spec("a", "float"), spec("b", "float")),
        (spec("a", static=True), spec("b")),
        (spec("a"), spec("b", static=True)),
    ],
)
def test_order_holds_after_mending(low: ColumnSpec, high: ColumnSpec) -> None:
    rng = np.random.default_rng(0)
    whole = low.physical == "ticks"
    a = rng.integers(0, 10_000, 500) if whole else rng.normal(0, 10, 500)
    b = rng.integers(0, 100, 500) if whole else rng.normal(0, 10, 500)
    columns = {
        "a": DrawnColumn(a.copy(), rng.random(500) < 0.1),
        "b": DrawnColumn(b.copy(), rng.random(500) < 0.1),
    }
    gaps = columns["a"].missing.copy(), columns["b"].missing.copy()
    apply_rules(columns, parse_rules(["a <= b"], ["a", "b"]), {"a": low, "b": high})
    both = ~columns["a"].missing & ~columns["b"].missing
    real_a = columns["a"].values / 10**low.decimals
    real_b = columns["b"].values / 10**high.decimals
    assert (real_a[both] <= real_b[both] + 1e-12).all()
    assert (columns["a"].missing == gaps[0]).all()
    assert (columns["b"].missing == gaps[1]).all()
    if low.static:
        assert (columns["a"].values == a).all()
    if high.static:
        assert (columns["b"].values == b).all()


def test_conditions_set_and_clear() -> None:
    specs = {"m": spec("m", "text"), "s": spec("s"), "f": spec("f", "decimal", decimals=2)}
    words = np.array(["yes", "no"] * 50, dtype=object)
    columns = {
        "m": DrawnColumn(words, np.zeros(100, dtype=bool)),
        "s": DrawnColumn(np.full(100, 40), np.zeros(100, dtype=bool)),
        "f": DrawnColumn(np.full(100, 123), np.ones(100, dtype=bool)),
    }
    rules = parse_rules(["if m = no then s is missing", "if m = yes then f = 1.5"], list(specs))
    check_rules(rules, specs)
    apply_rules(columns, rules, specs)
    assert (columns["s"].missing == (words == "no")).all()
    assert (columns["f"].values[words == "yes"] == 150).all()
    assert not columns["f"].missing[words == "yes"].any()


def test_contradictions_are_told() -> None:
    specs = {"a": spec("a"), "b": spec("b")}
    columns = {n: DrawnColumn(np.array([1]), np.array([False])) for n in "ab"}
    rules = parse_rules(["if a = 1 then b = 2", "if a = 1 then b = 3"], ["a", "b"])
    with pytest.raises(SpecError):
        apply_rules(columns, rules, specs)


def test_orders_in_a_circle_are_refused_before_anything_is_spent() -> None:
    specs = {name: spec(name) for name in "abc"}
    check_rules(parse_rules(["a <= b", "b <= c", "a <= c"], list(specs)), specs)
    with pytest.raises(SpecError, match="circle"):
        check_rules(parse_rules(["a <= b", "b <= c", "c <= a"], list(specs)), specs)


def test_rules_that_their_columns_can_not_keep() -> None:
    specs = {"a": spec("a", "text"), "b": spec("b"), "k": spec("k", key=True), "d": spec("d", "date")}
    for text in ("a <= b", "d <= b", "if k = 1 then b = 2", "if b = x then a = y"):
        with pytest.raises(SpecError):
            check_rules(parse_rules([text], list(specs)), specs)
