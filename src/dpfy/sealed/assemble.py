"""From drawn codes to columns of values: decoding, rules, keys and user ids. Post-processing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dpfy.domain.columns import CategoryDomain, NumberDomain
from dpfy.domain.model_column import values_from_keys
from dpfy.generators.protocol import DrawnRows, FittedGenerator
from dpfy.schema import ColumnKind, ColumnSpec
from dpfy.sealed.apply_rules import DrawnColumn, apply_rules
from dpfy.sealed.contents import Contents, apply_following
from dpfy.sealed.keys import DEFAULT_TEXT, KeyMaker


class Assembler:
    """Turns drawn rows into columns, batch by batch.

    Args:
        contents: what is drawn.
        generator: the fitted model.
        rng: sampling randomness.
    """

    def __init__(self, contents: Contents, generator: FittedGenerator, rng: np.random.Generator) -> None:
        self._contents = contents
        self._generator = generator
        self._rng = rng
        self._specs = {spec.name: spec for spec in contents.schema.columns}
        self._user_columns = [name for owner in contents.owners for name in owner]
        self._makers = {
            spec.name: KeyMaker.fresh(_pattern(spec), spec.name, rng)
            for spec in contents.schema.columns
            if (spec.key or spec.name in self._user_columns) and not spec.drop
        }
        self._rows = 0
        self._users = 0

    def batches(self, rows: int, batch_rows: int) -> Iterator[dict[str, DrawnColumn]]:
        """Draws so many rows.

        Args:
            rows: >= 0.
            batch_rows: most rows of a batch, >= 1.

        Yields:
            Columns by name, in the source's order.

        Raises:
            SpecError: when a key pattern has too few values, or rules contradict each other.
        """
        for name, maker in self._makers.items():
            if name not in self._user_columns:
                maker.check(rows)
        left = rows
        while left > 0:
            size = min(left, batch_rows)
            yield self._columns(self._generator.draw(size, self._rng))
            left -= size

    def _columns(self, drawn: DrawnRows) -> dict[str, DrawnColumn]:
        contents = self._contents
        apply_following(drawn.codes, contents.following)
        rows = len(drawn.user)
        columns: dict[str, DrawnColumn] = {}
        for source, spec in enumerate(contents.schema.columns):
            if spec.drop:
                continue
            if spec.name in self._user_columns:
                columns[spec.name] = self._user_ids(spec, drawn.user)
            elif spec.key:
                columns[spec.name] = self._keys(spec, self._rows + np.arange(rows, dtype=np.int64))
            elif spec.type is ColumnKind.EMPTY:
                columns[spec.name] = DrawnColumn(np.full(rows, "", dtype=object), np.ones(rows, dtype=bool))
            else:
                columns[spec.name] = self._decode(source, spec, drawn)
        apply_rules(columns, contents.rules, self._specs)
        self._rows += rows
        self._users += int(drawn.user[-1]) + 1 if rows else 0
        return columns

    def _user_ids(self, spec: ColumnSpec, user: NDArray[np.int64]) -> DrawnColumn:
        if not len(user):
            return self._keys(spec, user)
        owner = next(i for i, columns in enumerate(self._contents.owners) if spec.name in columns)
        if owner > 0:
            # Who shares a record with whom is not modelled: further owners are dealt at random, as often each.
            user = self._rng.permutation(user)
        users = int(user.max()) + 1
        self._makers[spec.name].check(self._users + users)
        made = self._keys(spec, self._users + np.arange(users, dtype=np.int64))
        return DrawnColumn(made.values[user], made.missing[user])

    def _keys(self, spec: ColumnSpec, indices: NDArray[np.int64]) -> DrawnColumn:
        made = self._makers[spec.name].values(indices)
        values: NDArray[np.generic]
        if isinstance(made, np.ndarray):
            values = made * int(10**spec.decimals) if spec.physical == "ticks" else made.astype(np.float64)
        elif spec.physical == "text":
            values = np.array(made, dtype=object)
        else:
            values = np.array([spec.tick(value) for value in made], dtype=np.int64)
        return DrawnColumn(values, np.zeros(len(indices), dtype=bool))

    def _decode(self, source: int, spec: ColumnSpec, drawn: DrawnRows) -> DrawnColumn:
        parts = self._contents.parts_of(source)
        first = self._contents.domains[parts[0]]
        if isinstance(first, CategoryDomain):
            return _category(first, drawn.codes[parts[0]], spec)
        keys: list[NDArray[np.int64]] = []
        missing = np.zeros(len(drawn.user), dtype=bool)
        for position, part in enumerate(parts):
            domain = self._contents.domains[part]
            assert isinstance(domain, NumberDomain)
            found, absent = self._decode_numbers(part, domain, drawn, spec)
            keys.append(found)
            if position == 0:
                missing = absent
        values = values_from_keys(keys, spec)
        if spec.bounds is not None:
            values = np.clip(values, *spec.bounds)
        return DrawnColumn(values, missing)

    def _decode_numbers(
        self, part: int, domain: NumberDomain, drawn: DrawnRows, spec: ColumnSpec
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        codes = drawn.codes[part]
        follower = next((f for f in self._contents.following if f.column == part), None)
        if follower is not None and follower.keys is not None:
            absent = codes == domain.missing_code if domain.has_missing else np.zeros(len(codes), dtype=bool)
            return np.array(follower.keys, dtype=np.int64)[drawn.codes[follower.of]], absent
        if spec.static and len(codes):
            # One draw for each user, so that what lies inside a bin is constant too.
            starts = np.flatnonzero(np.r_[True, drawn.user[1:] != drawn.user[:-1]])
            keys, absent = domain.decode(codes[starts], self._rng)
            return keys[drawn.user], absent[drawn.user]
        return domain.decode(codes, self._rng)


def _category(domain: CategoryDomain, codes: NDArray[np.int32], spec: ColumnSpec) -> DrawnColumn:
    missing = codes == domain.missing_code if domain.has_missing else np.zeros(len(codes), dtype=bool)
    if spec.physical == "text":
        words: list[str] = [str(v) for v in domain.values]
        if domain.has_other:
            words.append(spec.other_label if spec.type is ColumnKind.TEXT else "")
        words += [""] * (domain.cells - len(words))
        values = np.array(words, dtype=object)[codes]
    else:
        ticks = [int(v) for v in domain.values]
        values = np.array(ticks + [0] * (domain.cells - len(ticks)), dtype=np.int64)[codes]
    blank = spec.other == "missing" or spec.type is not ColumnKind.TEXT
    if domain.has_other and blank:
        # Numbers and booleans can't carry a label.
        missing = missing | (codes == domain.other_code)
    return DrawnColumn(values, missing)


def _pattern(spec: ColumnSpec) -> str | None:
    if spec.key_pattern is not None:
        return spec.key_pattern
    return DEFAULT_TEXT if spec.physical == "text" else None
