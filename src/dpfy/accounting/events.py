"""Mechanism runs as data: dp_accounting's events, one event of our own, and their JSON form.

This module loads dp_accounting (about a second): import it inside the function that needs it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping

import attr
from dp_accounting import dp_event
from dp_accounting.dp_event import DpEvent, GaussianDpEvent

from dpfy.errors import PrivacyParameterError

__all__ = ["ThresholdDpEvent", "check_event", "events_from_json", "events_to_json", "gaussian_event"]

_DEEPEST = 16


@attr.s(frozen=True, slots=True, auto_attribs=True)
class ThresholdDpEvent(DpEvent):  # type: ignore[misc]
    """What partition selection adds to its noisy counts: with probability delta it names what only one user
    holds.

    Args:
        delta: in (0, 1); adds to the delta of whatever it is composed with.
    """

    delta: float


def gaussian_event(sigma: float, l2_sensitivity: float) -> GaussianDpEvent:
    """The event of a Gaussian mechanism.

    Args:
        sigma: standard deviation of the noise, > 0 and finite.
        l2_sensitivity: the most that one user moves the exact answer, same unit, > 0 and finite.
    """
    if not (0.0 < sigma < math.inf and 0.0 < l2_sensitivity < math.inf):
        raise PrivacyParameterError("sigma and l2_sensitivity must be positive and finite: without noise no privacy.")
    return GaussianDpEvent(sigma / l2_sensitivity)


def _positive(value: object, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 < value < math.inf:
        raise PrivacyParameterError(f"{what} of an event must be positive and finite: without noise no privacy.")
    return float(value)


def _not_negative(value: object, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 <= value < math.inf:
        raise PrivacyParameterError(f"{what} of an event must be finite and not negative.")
    return float(value)


def _share(value: object, what: str) -> float:
    number = _positive(value, what)
    if number > 1.0:
        raise PrivacyParameterError(f"{what} of an event must be at most 1.")
    return number


def _whole(value: object, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise PrivacyParameterError(f"{what} of an event must be a whole number of at least 1.")
    return value


def _numbers(value: object, what: str) -> list[float]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise PrivacyParameterError(f"{what} of an event must be a list of numbers.")
    return [_not_negative(number, what) for number in value]


_Field = Callable[[object, str], object]
_FIELDS: Mapping[type[DpEvent], Mapping[str, _Field]] = {
    dp_event.NoOpDpEvent: {},
    dp_event.GaussianDpEvent: {"noise_multiplier": _positive},
    dp_event.LaplaceDpEvent: {"noise_multiplier": _positive},
    dp_event.DiscreteLaplaceDpEvent: {"noise_parameter": _positive, "sensitivity": _whole},
    dp_event.MixtureOfGaussiansDpEvent: {
        "standard_deviation": _positive,
        "sensitivities": _numbers,
        "sampling_probs": _numbers,
    },
    dp_event.TruncatedSubsampledGaussianDpEvent: {
        "dataset_size": _whole,
        "sampling_probability": _share,
        "truncated_batch_size": _whole,
        "noise_multiplier": _positive,
    },
    ThresholdDpEvent: {"delta": _share},
    # Those below hold further events in the fields "event" and "events".
    dp_event.ComposedDpEvent: {},
    dp_event.SelfComposedDpEvent: {"count": _whole},
    dp_event.PoissonSampledDpEvent: {"sampling_probability": _share},
}
_BY_NAME = {kind.__name__: kind for kind in _FIELDS}


def _encode(event: DpEvent, depth: int = 0) -> dict[str, object]:
    fields = _FIELDS.get(type(event))
    if fields is None or depth > _DEEPEST:
        raise PrivacyParameterError(
            f"an event of a known type was expected; {type(event).__name__} is none, or is nested too deeply."
        )
    tree: dict[str, object] = {"type": type(event).__name__}
    for name, read in fields.items():
        tree[name] = read(getattr(event, name), name)
    if isinstance(event, dp_event.ComposedDpEvent):
        tree["events"] = [_encode(part, depth + 1) for part in event.events]
    elif isinstance(event, (dp_event.SelfComposedDpEvent, dp_event.PoissonSampledDpEvent)):
        tree["event"] = _encode(event.event, depth + 1)
    return tree


def _decode(tree: object, depth: int = 0) -> DpEvent:
    name = tree.get("type") if isinstance(tree, Mapping) else None
    kind = _BY_NAME.get(name) if isinstance(name, str) else None
    if kind is None or not isinstance(tree, Mapping) or depth > _DEEPEST:
        raise PrivacyParameterError(f"an event of a known type was expected; {name!r} is none.")
    fields = _FIELDS[kind]
    inner = {
        dp_event.ComposedDpEvent: {"events"},
        dp_event.SelfComposedDpEvent: {"event"},
        dp_event.PoissonSampledDpEvent: {"event"},
    }.get(kind, set())
    if set(tree) != {"type", *fields, *inner}:
        raise PrivacyParameterError(f"an event of type {kind.__name__} has missing or unknown fields.")
    values: dict[str, object] = {key: read(tree[key], key) for key, read in fields.items()}
    if "event" in inner:
        values["event"] = _decode(tree["event"], depth + 1)
    if "events" in inner:
        parts = tree["events"]
        if not isinstance(parts, list):
            raise PrivacyParameterError("events of a composed event must be a list.")
        values["events"] = [_decode(part, depth + 1) for part in parts]
    return kind(**values)


def check_event(event: DpEvent) -> None:
    """Refuses an event of unknown type, and one without noise.

    Raises:
        PrivacyParameterError: for unknown types, NaN, zero or negative noise anywhere in the tree.
    """
    _encode(event)


def events_to_json(events: Iterable[DpEvent]) -> str:
    """Writes events so that equal events give equal text and floats come back bit for bit.

    Raises:
        PrivacyParameterError: see `check_event`.
    """
    return json.dumps([_encode(event) for event in events], sort_keys=True, separators=(",", ":"), allow_nan=False)


def events_from_json(text: str) -> tuple[DpEvent, ...]:
    """Reads what `events_to_json` wrote.

    Raises:
        PrivacyParameterError: for text that is no list of known events, or events without noise.
    """
    try:
        trees = json.loads(text)
    except json.JSONDecodeError:
        raise PrivacyParameterError("a JSON list of events was expected; the text is no JSON.") from None
    if not isinstance(trees, list):
        raise PrivacyParameterError("a JSON list of events was expected.")
    return tuple(_decode(tree) for tree in trees)
