"""Conditions on one row, checked before they touch the data."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dpfy.errors import ContributionError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["row_filter"]

_CLASSES = frozenset(
    [
        "COMPARISON",
        "CONJUNCTION",
        "CONSTANT",
        "COLUMN_REF",
        "OPERATOR",
        "FUNCTION",
        "CAST",
        "TYPE",
        "CASE",
        "BETWEEN",
    ]
)
_OPERATORS = frozenset(
    [
        *("OPERATOR_NOT", "OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL", "OPERATOR_COALESCE", "OPERATOR_TRY"),
        *("COMPARE_IN", "COMPARE_NOT_IN", "OPERATOR_NULLIF"),
    ]
)
_FUNCTIONS = frozenset(
    [
        *("+", "-", "*", "/", "//", "%", "||", "~~", "!~~", "~~*", "!~~*", "like_escape", "not_like_escape"),
        *(
            "abs",
            "ceil",
            "ceiling",
            "floor",
            "round",
            "sign",
            "sqrt",
            "ln",
            "log",
            "log2",
            "log10",
            "exp",
            "pow",
        ),
        *(
            "power",
            "mod",
            "trunc",
            "greatest",
            "least",
            "isnan",
            "isinf",
            "isfinite",
            "nullif",
            "if",
            "ifnull",
        ),
        *("lower", "upper", "lcase", "ucase", "trim", "ltrim", "rtrim", "length", "len", "strlen", "concat"),
        *(
            "substring",
            "substr",
            "left",
            "right",
            "replace",
            "contains",
            "starts_with",
            "ends_with",
            "prefix",
        ),
        *("suffix", "strpos", "instr", "position", "regexp_matches", "regexp_full_match", "regexp_extract"),
        *(
            "split_part",
            "reverse",
            "lpad",
            "rpad",
            "year",
            "quarter",
            "month",
            "week",
            "day",
            "hour",
            "minute",
        ),
        *("second", "dayofweek", "dayofyear", "weekday", "isodow", "date_part", "datepart", "date_trunc"),
        *("datetrunc", "date_diff", "datediff", "make_date", "strftime", "strptime", "try_strptime", "epoch"),
        *("to_years", "to_months", "to_weeks", "to_days", "to_hours", "to_minutes", "to_seconds"),
    ]
)
_IN_WORDS = {
    "SUBQUERY": "a query inside the condition",
    "WINDOW": "a window function",
    "STAR": "a star",
    "LAMBDA": "a function of one's own",
    "PARAMETER": "a parameter",
    "COLLATE": "a collation",
}
_SKELETON: Mapping[str, Any] = {
    "type": "SELECT_NODE",
    "modifiers": [],
    "where_clause": None,
    "group_expressions": [],
    "group_sets": [],
    "having": None,
    "sample": None,
    "qualify": None,
}


def row_filter(
    where: str | Sequence[str] | None,
    *,
    columns: Sequence[str],
    connection: DuckDBPyConnection,
    restriction: str = "",
) -> str | None:
    """Turns conditions into one SQL predicate that looks at one row alone.

    **Privacy:** a predicate of a row's own cells keeps or drops each row whatever else is in the table, so
    that adding or removing a user changes that user's rows only. It charges nothing. Anything that could
    look at other rows, at files, at time or at chance is refused by an allow-list of node and function
    names. A condition that fails on a cell leaves the row out, so that no message can quote the cell.

    Args:
        where: a condition such as "age >= 18", or several that must all hold.
        columns: names that a condition may use.
        restriction: why these are not all columns of the table, when they aren't; for the message.
        connection: parses; no data is read.

    Returns:
        SQL over the natural column names, never NULL for a row; None without a condition.

    Raises:
        ContributionError: the condition can't be parsed, or has something in it that is not allowed.
    """
    conditions = [where] if isinstance(where, str) else list(where or ())
    for condition in conditions:
        _check(condition, columns, connection, restriction)
    if not conditions:
        return None
    # The check parses one pair of brackets, the query has two: what closes them early fails to parse there.
    return " AND ".join(f"coalesce(TRY(CAST((\n({text}\n)) AS BOOLEAN)), FALSE)" for text in conditions)


def _check(condition: str, columns: Sequence[str], connection: DuckDBPyConnection, restriction: str) -> None:
    import duckdb

    try:
        answer = connection.execute("SELECT json_serialize_sql(?)", [f"SELECT (\n{condition}\n)"]).fetchall()
        tree: dict[str, Any] = json.loads(answer[0][0])
    except duckdb.Error:
        tree = {"error": True}
    statements: list[Any] = tree.get("statements", [])
    if tree["error"] or len(statements) != 1:
        raise _refused(condition, "a condition in SQL on the columns of one row was expected; it can't be parsed")
    node = statements[0]["node"]
    listed: list[Any] = node.get("select_list", [])
    if (
        any(node.get(key) != value for key, value in _SKELETON.items())
        or node["cte_map"]["map"]
        or node["from_table"]["type"] != "EMPTY"
        or len(listed) != 1
        or listed[0].get("alias")
    ):
        raise _refused(condition, "only one condition is allowed, no further clauses")
    known = {name.casefold() for name in columns}
    for part in _expressions(listed[0]):
        _check_part(
            condition,
            part,
            known,
            restriction or f"The columns are {', '.join(map(repr, columns))}; text stands in single quotes.",
        )


def _check_part(condition: str, part: Mapping[str, Any], known: set[str], hint: str) -> None:
    kind = part["class"]
    if kind not in _CLASSES:
        raise _refused(condition, f"{_IN_WORDS.get(kind, kind.lower())} is not allowed")
    if kind == "OPERATOR" and part["type"] not in _OPERATORS:
        raise _refused(condition, f"the operator {part['type'].lower()} is not allowed")
    if kind == "FUNCTION":
        name = str(part["function_name"]).lower()
        extra = part.get("filter") or part.get("distinct") or (part.get("order_bys") or {}).get("orders")
        if name not in _FUNCTIONS or part.get("schema") or part.get("catalog") or extra:
            raise _refused(condition, f"the function {name} is not allowed: it must depend on one row alone")
    if kind == "COLUMN_REF":
        names = part["column_names"]
        if len(names) != 1 or names[0].casefold() not in known:
            raise _refused(
                condition,
                f"there is no column {'.'.join(names)!r} to filter by",
                hint=hint,
            )


def _expressions(tree: object) -> Iterator[Mapping[str, Any]]:
    """All nodes of an expression, wherever the engine's version puts them."""
    if isinstance(tree, Mapping):
        if "class" in tree:
            yield tree
        elif "node" in tree:  # a query in a place that has no class of its own
            yield {"class": "SUBQUERY"}
        for value in tree.values():
            yield from _expressions(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _expressions(value)


def _refused(condition: str, what: str, *, hint: str = "") -> ContributionError:
    return ContributionError(
        f"the filter {condition!r} can't be used: {what}.",
        hint=hint or "Compare columns of one row with constants or each other, as in \"age >= 18 AND city = 'X'\".",
    )
