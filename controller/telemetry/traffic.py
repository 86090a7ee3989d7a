"""The traffic matrix: best-effort demands are what their ingress sends."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from controller.intents.demands import DemandKey, Demands

IDLE_SHARE = 0.01
"""An idle demand keeps this part of its a-priori rate, so that it stays spread."""
TIME_CONSTANT_S = 3.0


def smooth(
    previous: Mapping[DemandKey, float], sample: Mapping[DemandKey, float], elapsed_s: float
) -> dict[DemandKey, float]:
    """Exponentially weighted moving average; keys that are new start at their sample."""
    gain = 1 - math.exp(-max(0.0, elapsed_s) / TIME_CONSTANT_S)
    return {
        key: bps if key not in previous else previous[key] + gain * (bps - previous[key])
        for key, bps in sample.items()
    }


def measured_rates(
    a_priori: Demands, measured: Mapping[DemandKey, float] | None, version: int
) -> Demands:
    """The demands with measured (smoothed) rates in bits per second.

    Keys without a measurement, or all when ``measured`` is None, keep their a-priori rate.
    """
    known = measured or {}
    rates = tuple(
        max(known[key], IDLE_SHARE * rate) if key in known else rate
        for key, rate in zip(a_priori.keys, a_priori.rate_bps, strict=True)
    )
    return replace(a_priori, version=version, rate_bps=rates)
