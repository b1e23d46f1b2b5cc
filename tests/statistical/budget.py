"""One false-alarm budget of 1e-6 for a whole run, split over all statistical checks."""

from __future__ import annotations

FALSE_ALARMS = 1e-6
CHECKS = {
    "rounded normal, sigma 0.6": 1.0,
    "rounded normal, sigma 2.3": 1.0,
    "rounded normal, sigma 150": 1.0,
    "rounded normal, tail": 1.0,
    "uniform words, bits": 1.0,
    "uniform words, serial": 1.0,
    "threshold, single user": 1.0,
    "histogram, variance": 1.0,
}


def alpha(check: str) -> float:
    """A check's share of the budget."""
    return FALSE_ALARMS * CHECKS[check] / sum(CHECKS.values())
