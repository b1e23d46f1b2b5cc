"""Who a record belongs to."""

from __future__ import annotations

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfy.contribution.owners import id_expressions, id_of_cells, parse_user_option
from dpfy.errors import ContributionError
from dpfy.privacy import Adjacency, PrivacyUnit


@pytest.mark.parametrize(
    ("text", "owners"),
    [
        ("zper", (("zper",),)),
        (" zper ", (("zper",),)),
        ("clinic+number", (("clinic", "number"),)),
        ("s,d", (("s",), ("d",))),
        ("s, clinic + number", (("s",), ("clinic", "number"))),
        ('"a,b"+"c+d","say ""x"""', (("a,b", "c+d"), ('say "x"',))),
    ],
)
def test_the_option_names_owners(text: str, owners: tuple[tuple[str, ...], ...]) -> None:
    assert parse_user_option(text) == owners


@pytest.mark.parametrize("text", ["", " ", "a,", "+a", "a,,b", "a,a", "a+b,a", '"a', 'a""'])
def test_options_that_name_nobody_are_refused(text: str) -> None:
    if text == 'a""':
        assert parse_user_option(text) == (('a""',),)
        return
    with pytest.raises(ContributionError):
        parse_user_option(text)


def test_different_kinds_need_several_owners() -> None:
    assert parse_user_option("s,d", distinct_owners=True) == (("s",), ("d",))
    with pytest.raises(ContributionError):
        parse_user_option("s", distinct_owners=True)


def test_several_owners_mean_the_fixed_graph() -> None:
    assert PrivacyUnit(owners=parse_user_option("s,d")).adjacency is Adjacency.FIXED_GRAPH
    assert PrivacyUnit(owners=parse_user_option("a+b")).adjacency is Adjacency.ADD_REMOVE_USER


CELLS = st.text(min_size=1, max_size=4).filter(lambda text: "\x00" not in text)


def in_sql(unit: PrivacyUnit, cells: list[str]) -> list[str]:
    row = ", ".join(f"? AS u{place}" for place in range(len(cells)))
    query = f"SELECT {', '.join(id_expressions(unit, table='s'))} FROM (SELECT {row}) s"
    return list(duckdb.execute(query, cells).fetchone() or ())


@settings(max_examples=40, deadline=None)
@given(CELLS, CELLS, CELLS, CELLS)
def test_ids_of_two_columns_clash_only_when_they_are_equal(a: str, b: str, c: str, d: str) -> None:
    unit = PrivacyUnit(owners=(("x", "y"), ("z", "w")))
    first, second = in_sql(unit, [a, b, c, d])
    assert (first == second) == ((a, b) == (c, d))
    assert [first, second] == [id_of_cells(unit, 0, [a, b]), id_of_cells(unit, 1, [c, d])]


def test_one_name_space_unless_owners_are_distinct() -> None:
    shared = PrivacyUnit(owners=(("s",), ("d",)))
    apart = PrivacyUnit(owners=(("s",), ("d",)), distinct_owners=True)
    assert len(set(in_sql(shared, ["7", "7"]))) == 1
    assert len(set(in_sql(apart, ["7", "7"]))) == 2
    assert in_sql(apart, ["7", "8"]) == [id_of_cells(apart, 0, ["7"]), id_of_cells(apart, 1, ["8"])]
