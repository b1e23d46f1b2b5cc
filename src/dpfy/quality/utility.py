"""Utility: a model trained on synthetic rows and tested on real ones, beside one trained on real rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dpfy.quality.figures import Measure, TargetUtility, UtilityFigures, absent, measured
from dpfy.quality.users import IndexArray
from dpfy.quality.values import ColumnValues, FloatArray, exact_keys

MOST_ROWS = 50_000
MOST_UNNAMED_ROWS = 20_000
MOST_CELLS = 3_000_000
MOST_CLASSES = 20
MOST_TARGETS = 3
_MOST_NUMBER_CLASSES = 10
_MOST_LEVELS = 250
_LEAST_ROWS = 10
OTHER = -1

Task = Literal["classification", "regression"]


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Rows to train or test on: features of shape (rows, features) and the target."""

    features: FloatArray
    target: FloatArray

    def __len__(self) -> int:
        return len(self.target)


def choose_targets(names: Sequence[str], target: str | None) -> tuple[list[str], str]:
    """The targets and the rule that chose them; the rule looks at the order of columns, never at values."""
    if target is not None:
        return [target], "The target was named by the caller."
    chosen = list(names[-MOST_TARGETS:])[::-1]
    return chosen, f"No target was named: the last {len(chosen)} columns of the table are taken in turn."


def split_rows(rows: int, people: IndexArray | None) -> tuple[IndexArray, IndexArray]:
    """Places of 80% of the real rows for training and of 20% for testing, whole users at a time."""
    unit = np.arange(rows) if people is None else people
    distinct = np.unique(unit)
    order = np.random.default_rng(0).permutation(len(distinct))
    held = order[: max(1, len(distinct) // 5)]
    test = np.isin(unit, distinct[held])
    return np.flatnonzero(~test), np.flatnonzero(test)


def feature_codes(tables: Sequence[ColumnValues]) -> list[FloatArray]:
    """One feature in each table: numbers as they are, categories as codes of frequent real values.

    Missing is NaN; values beyond the frequent ones, and values that the real table lacks, share one code.
    """
    if tables[0].numbers is not None:
        return [table.finite() for table in tables]
    keys = exact_keys(tables)
    known = keys[0][~tables[0].missing]
    levels, counts = np.unique(known, return_counts=True)
    levels = np.sort(levels[np.argsort(-counts, kind="stable")][:_MOST_LEVELS])
    out = []
    for key, table in zip(keys, tables, strict=True):
        if len(levels):
            place = np.minimum(np.searchsorted(levels, key), len(levels) - 1)
            code = np.where(levels[place] == key, place, len(levels)).astype(np.float64)
        else:
            code = np.zeros(len(key))
        code[table.missing] = np.nan
        out.append(code)
    return out


def target_codes(tables: Sequence[ColumnValues]) -> tuple[list[FloatArray], Task, int]:
    """The target in each table (NaN: missing), the task, and the number of classes (0 for a regression)."""
    numbers = tables[0].numbers
    if numbers is not None:
        distinct = np.unique(numbers[np.isfinite(numbers)])
        if len(distinct) > _MOST_NUMBER_CLASSES or tables[0].kind == "date":
            return [table.finite() for table in tables], "regression", 0
    keys = exact_keys(tables)
    levels, counts = np.unique(keys[0][~tables[0].missing], return_counts=True)
    if len(levels) > MOST_CLASSES:
        levels = np.sort(levels[np.argsort(-counts, kind="stable")][: MOST_CLASSES - 1])
        pooled = len(levels)
    else:
        pooled = OTHER  # values that the real table lacks are dropped from training
    out = []
    for key, table in zip(keys, tables, strict=True):
        place = np.minimum(np.searchsorted(levels, key), max(0, len(levels) - 1))
        found = levels[place] == key if len(levels) else np.zeros(len(key), bool)
        code = np.where(found, place, pooled).astype(np.float64)
        code[table.missing | (code == OTHER)] = np.nan
        out.append(code)
    return out, "classification", len(levels) + (pooled != OTHER)


def _model(task: Task, classes: int, features: int, categorical: npt.NDArray[np.bool_]) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    # One round grows a tree for each class: fewer rounds with larger steps keep the time within bounds.
    rounds = 100 if classes <= 2 else max(12, 120 // classes)
    rounds = rounds if features <= 60 else max(12, rounds // 2)
    options: dict[str, Any] = {
        "max_iter": rounds,
        "learning_rate": 0.1 if rounds >= 50 else 0.25,
        "early_stopping": False,
        "random_state": 0,
        "categorical_features": categorical,
    }
    return HistGradientBoostingClassifier(**options) if classes else HistGradientBoostingRegressor(**options)


def score(
    train: Sample, test: Sample, task: Task, classes: int, categorical: npt.NDArray[np.bool_]
) -> tuple[Measure, Measure]:
    """Score and accuracy on `test` of a model trained on `train`; accuracy is null for a regression."""
    no_accuracy = absent("Accuracy is not defined for a regression.")
    if len(train) < _LEAST_ROWS or len(test) < _LEAST_ROWS:
        reason = f"Fewer than {_LEAST_ROWS} rows with a known target to train or test on."
        return absent(reason), absent(reason) if classes else no_accuracy
    if len(np.unique(test.target)) < 2:
        reason = "The target has a single value among the real test rows."
        return absent(reason), absent(reason) if classes else no_accuracy
    varied = np.array([len(np.unique(x[np.isfinite(x)])) > 0 for x in train.features.T], dtype=bool)
    if not varied.any():
        reason = "No other column holds a value to predict from."
        return absent(reason), absent(reason) if classes else no_accuracy
    if task == "regression":
        from sklearn.metrics import r2_score

        centre, spread = float(train.target.mean()), float(train.target.std()) or 1.0
        fitted = _model(task, 0, int(varied.sum()), categorical[varied])
        fitted.fit(train.features[:, varied], (train.target - centre) / spread)
        guess = fitted.predict(test.features[:, varied]) * spread + centre
        return measured(r2_score(test.target, guess)), no_accuracy
    chance = np.zeros((len(test), classes))
    seen = np.unique(train.target)
    if len(seen) < 2:
        chance[:, int(seen[0])] = 1.0
    else:
        fitted = _model(task, classes, int(varied.sum()), categorical[varied])
        fitted.fit(train.features[:, varied], train.target)
        chance[:, fitted.classes_.astype(int)] = fitted.predict_proba(test.features[:, varied])
    accuracy = float((chance.argmax(axis=1) == test.target).mean())
    return measured(_auc(chance, test.target)), measured(accuracy)


def _auc(chance: FloatArray, truth: FloatArray) -> float:
    """AUC for two classes; the mean over one-against-rest AUCs for more."""
    from sklearn.metrics import roc_auc_score

    present = np.unique(truth).astype(int)
    if chance.shape[1] == 2:
        return float(roc_auc_score(truth == 1, chance[:, 1]))
    return float(np.mean([roc_auc_score(truth == c, chance[:, c]) for c in present]))


def _fewer(rows: IndexArray, most: int) -> IndexArray:
    if len(rows) <= most:
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, most, replace=False))


def utility(
    columns: Sequence[Sequence[ColumnValues]],
    people: IndexArray | None,
    target: str | None,
    progress: Callable[[float], None] = lambda share: None,
) -> UtilityFigures:
    """Trains on synthetic and on real rows, and tests both on real rows kept apart.

    Args:
        columns: columns[c] holds column c of (real, synthetic) or of (real, synthetic, holdout).
        people: the user of each real row, or None.
        target: the column to predict; None for the last three in turn.
        progress: called with the share done, in [0, 1].
    """
    names = [tables[0].name for tables in columns]
    targets, rule = choose_targets(names, target)
    training, test = split_rows(len(columns[0][0]), people)
    if len(columns[0]) > 2:
        rule += " The test rows are those of the holdout; the ceiling is trained on the real rows."
        training, test = np.arange(len(columns[0][0])), np.arange(len(columns[0][2]))
    else:
        whom = "rows" if people is None else "users"
        rule += (
            f" The test rows belong to 20% of the real {whom} (fixed seed), the ceiling is trained on the "
            f"other 80%. "
            "The generator may have been fitted on all of them."
        )
    most = int(min(MOST_ROWS if target is not None else MOST_UNNAMED_ROWS, MOST_CELLS // max(1, len(columns))))
    rule += f" At most {most:,} rows of each are used."
    if len(columns) < 2:
        return UtilityFigures(rule="There is no other column to predict from.", targets=())
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    features = [feature_codes(tables) for tables in columns]
    rows = _fewer(training, most), _fewer(np.arange(len(columns[0][1])), most), _fewer(test, most)
    done = []
    # One thread: on a busy machine OpenMP threads that wait for one another take a hundred times longer.
    with threadpool_limits(1, user_api="openmp"):
        for place, name in enumerate(targets):
            done.append(_target(columns, features, names.index(name), rows))
            progress((place + 1) / len(targets))
    return UtilityFigures(rule=rule, targets=tuple(done))


def _target(
    columns: Sequence[Sequence[ColumnValues]],
    features: Sequence[Sequence[FloatArray]],
    place: int,
    rows: tuple[IndexArray, IndexArray, IndexArray],
) -> TargetUtility:
    codes, task, classes = target_codes(columns[place])
    others = [c for c in range(len(columns)) if c != place]
    categorical = np.array([columns[c][0].numbers is None for c in others], dtype=bool)
    tested = 2 if len(codes) > 2 else 0

    def sample(table: int, chosen: IndexArray) -> Sample:
        known = chosen[np.isfinite(codes[table][chosen])]
        block = np.stack([features[c][table][known] for c in others], axis=1)
        return Sample(features=block, target=codes[table][known])

    real, drawn, test = sample(0, rows[0]), sample(1, rows[1]), sample(tested, rows[2])
    ceiling = score(real, test, task, classes, categorical)
    made = score(drawn, test, task, classes, categorical)
    guess = absent("Accuracy is not defined for a regression.")
    if task == "classification" and len(real) and len(test):
        guess = measured(float((test.target == np.bincount(real.target.astype(int)).argmax()).mean()))
    elif task == "classification":
        guess = absent("There are no rows with a known target.")
    notes = []
    if len(real) < len(rows[0]) or len(drawn) < len(rows[1]):
        notes.append("Rows without a target, or with one that the real table lacks, are left out.")
    if classes >= MOST_CLASSES:
        notes.append(f"Only the {MOST_CLASSES - 1} most frequent classes are told apart; the rest are one class.")
    return TargetUtility(
        target=columns[place][0].name,
        task=task,
        score="R2" if task == "regression" else "AUC",
        trained_on_real=ceiling[0],
        trained_on_synthetic=made[0],
        baseline=0.0 if task == "regression" else 0.5,
        accuracy_real=ceiling[1],
        accuracy_synthetic=made[1],
        accuracy_baseline=guess,
        classes=classes,
        real_training_rows=len(real),
        synthetic_training_rows=len(drawn),
        test_rows=len(test),
        notes=tuple(notes),
    )
