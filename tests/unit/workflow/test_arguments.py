"""Arguments from Python: forgiving where the meaning is plain, refused by name where it is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dpfy
from dpfy.errors import DpfyError, PrivacyParameterError, SpecError
from dpfy.ledger.sqlite import Ledger
from dpfy.ledger.workspace import Workspace
from dpfy.workflow.load import make_request

SCHEMA = {"columns": [{"name": "a", "type": "integer", "range": [0, 9]}]}


def test_plain_forms_are_understood() -> None:
    request = make_request(
        "x.csv",
        epsilon=1,
        user=["a", "b"],
        max_records_per_user=np.int64(3),
        exclude_users="gone.txt",
        where="a > 1",
        rules="a <= b",
        schema=SCHEMA,
        reading={"separator": "tab"},
    )
    assert request.unit.owners == (("a",), ("b",))
    assert request.unit.max_records_per_user == 3
    assert request.exclude_users == Path("gone.txt")
    assert request.where == ("a > 1",)
    assert request.rules == ("a <= b",)
    assert request.schema is not None
    assert request.schema.names == ("a",)
    assert request.reading.separator == "\t"


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"max_records_per_user": 2.5, "user": "a"}, PrivacyParameterError, "max_records_per_user"),
        ({"max_records_per_user": "3", "user": "a"}, PrivacyParameterError, "max_records_per_user"),
        ({"max_records_per_user": True, "user": "a"}, PrivacyParameterError, "max_records_per_user"),
        ({"max_records_per_user": 0}, PrivacyParameterError, "max_records_per_user"),
        ({"rows": 2.5}, SpecError, "rows"),
        ({"rows": -1}, SpecError, "rows"),
        ({"wheer": "a > 1"}, SpecError, "'wheer'"),
        ({"where": 5}, SpecError, "where"),
        ({"rules": [5]}, SpecError, "rules"),
        ({"exclude_users": ["p1"], "user": "a"}, SpecError, "exclude_users"),
        ({"schema": 5}, SpecError, "schema"),
        ({"schema": {"columns": [{"name": "a", "type": "sheep"}]}}, SpecError, "type"),
        ({"reading": {"seperator": ","}}, SpecError, "seperator"),
        ({"reading": {"separator": "long"}}, SpecError, "separator"),
        ({"user": 5}, SpecError, "user"),
        ({"counting": 5}, SpecError, "counting"),
        ({"distinct_owners": "yes"}, SpecError, "distinct_owners"),
        ({"name": 5}, SpecError, "name"),
    ],
)
def test_wrong_arguments_are_named_and_reserve_nothing(
    tmp_path: Path, given: dict[str, Any], error: type[DpfyError], words: str
) -> None:
    with pytest.raises(error, match=words):
        dpfy.synth(pa.table({"a": [1, 2, 3]}), epsilon=1, workspace=tmp_path, **given)
    with Ledger.open(Workspace.locate(tmp_path)) as ledger:
        assert ledger.show() == []


def test_a_generator_checks_rows_seed_and_where_it_is_saved(tmp_path: Path) -> None:
    made = dpfy.fit(pa.table({"a": [1, 2, 3] * 50}), epsilon=5, schema=SCHEMA, workspace=tmp_path / "home")
    for wrong in ({"rows": 2.5}, {"rows": -1}, {"seed": "a"}, {"seed": -1}):
        with pytest.raises(SpecError, match=next(iter(wrong))):
            made.sample(**wrong)  # type: ignore[arg-type]
        with pytest.raises(SpecError, match=next(iter(wrong))):
            made.write(tmp_path / "o.csv", **wrong)  # type: ignore[arg-type]
    for path in ("m.zip", "none/m.dpfy"):
        with pytest.raises(SpecError):
            made.save(tmp_path / path)
    made.save(str(tmp_path / "m.dpfy"))
    assert dpfy.load(tmp_path / "m.dpfy").sample(4, seed=1).num_rows == 4


def test_numbers_beyond_64_bits_come_back_as_words(tmp_path: Path) -> None:
    table = pa.table({"n": pa.array([2**64 - 1, 5] * 200, pa.uint64())})
    drawn = dpfy.synth(table, epsilon=5, rows=20, workspace=tmp_path)
    assert drawn.schema.field("n").type == pa.string()
    assert set(drawn["n"].to_pylist()) <= {str(2**64 - 1), "5"}
