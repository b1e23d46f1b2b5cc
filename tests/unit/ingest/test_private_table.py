"""The private table: what it shows, and what it leaves behind."""

from __future__ import annotations

import copy
import os
import pickle
from pathlib import Path

import pytest

from dpfy.errors import SourceError
from dpfy.ingest.private_table import open_engine
from tests.unit.ingest.files import source_of, values

TEXT = (
    "id,age,amount,day,at,zoned,clock,word,row\n"
    "zqx-1,18,12.50,2021-02-28,2021-02-28 10:00:00,2021-02-28T10:00:00+01:00,10:30,basic,7\n"
    "zqx-2,,0.05,0001-01-01,1999-12-31 23:59:59,2021-07-01T00:00:00+01:00,23:59,,8\n"
)


def natural(table, what: str, where: str = "true") -> list:
    return table.connection.execute(f"SELECT {what} FROM {table.natural_view} WHERE {where}").fetchall()


def test_filters_see_the_original_names_and_natural_types(tmp_path) -> None:
    with source_of(tmp_path, TEXT).read() as table:
        assert natural(table, "natural_row", "age >= 18") == [(0,)]
        assert natural(table, "natural_row", "age IS NULL") == [(1,)]
        assert natural(table, "natural_row", "amount = 12.5 AND word = 'basic'") == [(0,)]
        assert natural(table, "natural_row", "day < DATE '1900-01-01'") == [(1,)]
        assert natural(table, "natural_row", "\"at\" = TIMESTAMP '2021-02-28 10:00:00'") == [(0,)]
        assert natural(table, "natural_row", "zoned = TIMESTAMPTZ '2021-02-28 09:00:00+00'") == [(0,)]
        assert natural(table, "natural_row", "clock = TIME '10:30:00'") == [(0,)]
        assert natural(table, "natural_row", '"row" = 8') == [(1,)]


def test_columns_are_found_by_name(tmp_path) -> None:
    with source_of(tmp_path, TEXT).read() as table:
        assert table.column("amount") == "c2"
        assert values(table, "amount") == [1250, 5]
        assert values(table, "clock") == [37800, 86340]


def test_it_shows_nothing_and_can_t_be_pickled_or_copied(tmp_path) -> None:
    with source_of(tmp_path, TEXT).read() as table:
        assert "zqx" not in repr(table) + str(table)
        for act in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError):
                act(table)


def test_spilled_pages_are_encrypted_private_and_removed() -> None:
    connection, spill = open_engine("100MB")
    assert Path(spill).stat().st_mode & 0o077 == 0
    connection.execute("CREATE TABLE t AS SELECT 'zqx-marker-' || hash(range) AS w FROM range(4000000)")
    pages = b"".join(p.read_bytes() for p in Path(spill).iterdir() if p.is_file())
    connection.close()
    assert len(pages) > 1_000_000
    assert b"zqx-marker-" not in pages
    os.rmdir(spill)


def test_closing_removes_the_spill_folder(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temp"))
    (tmp_path / "temp").mkdir()
    table = source_of(tmp_path, TEXT).read()
    assert len(list((tmp_path / "temp").iterdir())) == 1
    table.close()
    table.close()
    assert list((tmp_path / "temp").iterdir()) == []


def test_a_failed_load_leaves_nothing_and_quotes_nothing(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temp"))
    (tmp_path / "temp").mkdir()
    source = source_of(tmp_path, "a,b\n1,zqx\n")
    schema = source.propose()
    wrong = schema.with_columns([schema.columns[0], schema.columns[0].model_copy(update={"name": "b"})])
    with pytest.raises(SourceError) as caught:
        source.read(wrong)
    assert "zqx" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert list((tmp_path / "temp").iterdir()) == []


def test_rows_keep_their_order(tmp_path) -> None:
    text = "n\n" + "\n".join(str((i * 7919) % 400_000) for i in range(400_000))
    with source_of(tmp_path, text).read() as table:
        assert values(table, "n") == [(i * 7919) % 400_000 for i in range(400_000)]
