"""Figures that were measured earlier on the same split and yardstick, and not again here."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CITED", "Cited"]


@dataclass(frozen=True, kw_only=True)
class Cited:
    """One row of the table of figures from elsewhere, as its source writes them."""

    system: str
    epsilon: str
    tvd2: str
    tvd3: str
    auc: str
    cpu_seconds: str
    peak_mebibytes: str
    why: str


def _cited(system: str, epsilon: str, figures: str, why: str) -> Cited:
    tvd2, tvd3, auc, cpu_seconds, peak_mebibytes = figures.split()
    return Cited(
        system=system,
        epsilon=epsilon,
        tvd2=tvd2,
        tvd3=tvd3,
        auc=auc,
        cpu_seconds=cpu_seconds,
        peak_mebibytes=peak_mebibytes,
        why=why,
    )


_ENGINE = "mostlyai-engine 2.7.3"
_LARGE = "2.7 GB installed"
_DPSYNTH = "google/dpsynth (Aug 2026) MST, domain declared"
_ABSENT = "not on PyPI"
CITED = (
    _cited(f"{_ENGINE}, NO privacy (17 epochs)", "-", ".056 .108 .908 ~450(wall) 818", _LARGE),
    _cited(
        f"{_ENGINE} with DP (4 epochs, ended by a wall limit at reported epsilon 1.73)",
        "3",
        ".238 .339 .845 90 887",
        _LARGE,
    ),
    _cited(_DPSYNTH, "1", ".109 .190 .753 45 1317", _ABSENT),
    _cited(_DPSYNTH, "3", ".079 .150 .774 53 1405", _ABSENT),
    _cited(_DPSYNTH, "10", ".104 .184 .766 51 1441", _ABSENT),
    _cited(
        "smartnoise-synth 1.0.8 MST with its own equal-width bins",
        "1",
        ".539 .728 .735 103 3405",
        "above it gets declared cells instead, which suit it better",
    ),
)
