"""Every noise source against its exact law; each check has a broken control that it must reject."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import binom, chi2, norm

from dpfy.accounting.meter import ChargeKind, Meter, plan_charge
from dpfy.mechanisms.counting import CountScale
from dpfy.mechanisms.histogram import GaussianHistogram
from dpfy.mechanisms.threshold import GaussianThreshold
from dpfy.noise.source import NoiseSource, SecureSource, SeededSource
from dpfy.privacy import CountingMode
from tests.statistical.budget import alpha

pytestmark = pytest.mark.statistical


def p_value_of_rounded_normal(drawn: np.ndarray, sigma: float) -> float:
    """Chi-square of counts of whole numbers against the law of round(sigma Z)."""
    reach = int(np.ceil(4 * sigma))
    step = max(1, int(sigma / 8))
    borders = np.arange(-reach, reach + step, step) - 0.5
    expected = len(drawn) * np.diff(np.concatenate([[0], norm.cdf(borders / sigma), [1]]))
    found = np.bincount(np.searchsorted(borders, drawn), minlength=len(borders) + 1)
    keep = expected > 10
    statistic = ((found - expected) ** 2 / expected)[keep].sum()
    rest = expected[~keep].sum()
    if rest > 0:
        statistic += (found[~keep].sum() - rest) ** 2 / rest
    return float(chi2.sf(statistic, keep.sum() - 1))


@pytest.mark.parametrize("sigma", [0.6, 2.3, 150.0])
def test_rounded_normal_follows_its_law(sigma: float) -> None:
    limit = alpha(f"rounded normal, sigma {sigma:g}")
    source = SeededSource(20_261_201)
    drawn = source.rounded_gaussian(sigma, 400_000)
    assert p_value_of_rounded_normal(drawn, sigma) > limit
    # Power: a scale that is off by 2 percent, and a shift by a tenth of sigma or a unit's part, are seen.
    assert p_value_of_rounded_normal(source.rounded_gaussian(1.02 * sigma, 400_000), sigma) < limit
    shifted = np.rint(source.rounded_gaussian(1000 * sigma, 400_000) / 1000 + 0.05 * sigma).astype(np.int64)
    assert p_value_of_rounded_normal(shifted, sigma) < limit


def test_tail_keeps_its_mass() -> None:
    limit = alpha("rounded normal, tail")
    trials, beyond = 4_000_000, 4.5
    rate = 2 * norm.sf((np.floor(beyond * 1000) + 0.5) / 1000)
    hits = int((np.abs(SeededSource(7).rounded_gaussian(1000.0, trials)) > 1000 * beyond).sum())
    low, high = binom.cdf(hits, trials, rate), binom.sf(hits - 1, trials, rate)
    assert min(low, high) > limit / 2
    # Broken control: a normal cut at four sigma has no such tail.
    assert binom.cdf(0, trials, rate) < limit / 2


def test_quantiles_are_as_exact_as_the_proof_says() -> None:
    rng = np.random.default_rng(3)
    uniform = np.concatenate([rng.random(150), 2.0 ** -rng.uniform(1, 53, 150)])
    with mpmath.workdps(40):
        for value in uniform:
            exact = mpmath.sqrt(2) * mpmath.erfinv(1 - mpmath.mpf(float(value)))
            assert abs(mpmath.mpf(float(-ndtri(0.5 * value))) - exact) < 1e-15 * (exact + 1)


class _Scripted(NoiseSource):
    """Hands out given words, then zeros."""

    secure = False

    def __init__(self, *batches: list[int]) -> None:
        self._batches = [np.array(b, dtype=np.uint64) for b in batches]

    def words(self, count: int) -> np.ndarray:
        if self._batches:
            found = self._batches.pop(0)
            assert len(found) == count
            return found
        return np.zeros(count, dtype=np.uint64)


def test_doubtful_rounding_is_decided_in_full_precision() -> None:
    # U / 2 = 1/4 lies at 0.6744897501960817 sigma; sigma is chosen so that double precision can't tell 0.5 from it.
    sigma = 0.5 / 0.6744897501960817
    below_half = _Scripted([1 << 63], [1], [2**64 - 1] * 3)  # U just above 1/2: |Z| just below the quantile
    assert below_half.rounded_gaussian(sigma, 1)[0] == 0
    with mpmath.workdps(60):
        exact = mpmath.sqrt(2) * mpmath.erfinv(mpmath.mpf(1) / 2) * mpmath.mpf(sigma)
        expected = int(mpmath.nint(exact))
    assert _Scripted([1 << 63], [1], [0] * 3).rounded_gaussian(sigma, 1)[0] == expected


def test_words_are_uniform_and_independent() -> None:
    def p_values(words: np.ndarray) -> tuple[float, float]:
        bits = np.unpackbits(words.view(np.uint8)).astype(np.int64)
        share = bits.reshape(-1, 64).sum(axis=0)
        rows = len(words)
        each = ((share - rows / 2) ** 2 / (rows / 4)).sum()
        agree, pairs = int((bits[:-64] == bits[64:]).sum()), len(bits) - 64
        serial = 2 * norm.sf(abs(agree - pairs / 2) / np.sqrt(pairs / 4))
        return float(chi2.sf(each, 64)), float(serial)

    bits, serial = p_values(SecureSource().words(200_000))
    assert bits > alpha("uniform words, bits") / 2
    assert serial > alpha("uniform words, serial") / 2
    broken = SecureSource().words(200_000) | np.uint64(0x10)
    assert p_values(broken)[0] < alpha("uniform words, bits") / 2
    repeated = np.repeat(SecureSource().words(100_000), 2)
    assert p_values(repeated)[1] < alpha("uniform words, serial") / 2


def test_histogram_noise_has_the_charged_variance() -> None:
    limit = alpha("histogram, variance")
    mechanism = GaussianHistogram.of_budget(0.01, 3.0)
    meter = Meter(plan_charge(3.0, 1e-5))
    cells = 50_000
    noisy = mechanism.run(
        np.full(cells, 100, dtype=np.int64), meter=meter, noise=SeededSource(5), label="cells", kind=ChargeKind.MEASURE
    )
    statistic = ((noisy - 100) ** 2).sum() / (mechanism.sigma**2 + 1 / 12)
    assert min(chi2.cdf(statistic, cells), chi2.sf(statistic, cells)) > limit / 2
    assert meter.charges[0].event.noise_multiplier == pytest.approx(mechanism.sigma / 3.0)
    # Broken control: noise for sensitivity 2 where 3 was declared.
    assert chi2.cdf(statistic * (2 / 3) ** 2, cells) < limit / 2


@pytest.mark.parametrize("cap", [1, 5])
def test_values_of_one_user_pass_the_threshold_no_more_often_than_delta(cap: int) -> None:
    limit = alpha("threshold, single user") / 2
    delta, trials = 0.01, 60_000
    scale = CountScale(mode=CountingMode.ROWS, max_records_per_user=cap)
    mechanism = GaussianThreshold.of_budget(0.04, delta, scale)
    source = SeededSource(11)
    spread_out = source.rounded_gaussian(mechanism.sigma, trials * cap).reshape(trials, cap) + 1 >= mechanism.threshold
    in_one = source.rounded_gaussian(mechanism.sigma, trials) + cap >= mechanism.threshold
    for named in (int(spread_out.any(axis=1).sum()), int(in_one.sum())):
        assert binom.sf(named - 1, trials, delta) > limit
    # Broken control: a threshold two sigma lower names far too many.
    loose = source.rounded_gaussian(mechanism.sigma, trials) + cap >= mechanism.threshold - 2 * mechanism.sigma
    assert binom.sf(int(loose.sum()) - 1, trials, delta) < limit
