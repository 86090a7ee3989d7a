"""Meters: token buckets, as Open vSwitch's userspace datapath has them."""

from __future__ import annotations

from dataclasses import dataclass, field

from controller.openflow.messages import Band, MeterFlag


@dataclass(slots=True)
class BandState:
    """``tokens`` in thousandths of a packet, or in bits."""

    band: Band
    tokens: float
    packets: int = 0
    bytes: int = 0


@dataclass(slots=True)
class MeterEntry:
    id: int
    flags: int
    bands: list[BandState]
    created: float
    used: float
    packets: int = 0
    bytes: int = 0
    entries: set[object] = field(default_factory=set)

    @staticmethod
    def of(meter_id: int, flags: int, bands: tuple[Band, ...], now: float) -> MeterEntry:
        return MeterEntry(
            meter_id, flags, [BandState(band, _depth(band)) for band in bands], now, now
        )

    def redefine(self, flags: int, bands: tuple[Band, ...], now: float) -> None:
        """As a modification does: counters start anew, buckets are full again."""
        self.packets = self.bytes = 0
        self.flags = flags
        self.bands = [BandState(band, _depth(band)) for band in bands]
        self.used = now

    def admit(self, octets: int, now: float) -> bool:
        """Whether one packet passes; counts it. It is dropped by the fastest band it exceeds."""
        self.packets += 1
        self.bytes += octets
        by_packet = self.flags & MeterFlag.PKTPS
        cost = 1000.0 if by_packet else octets * 8.0
        elapsed = max(0.0, now - self.used)
        self.used = now
        exceeded: BandState | None = None
        for state in self.bands:
            state.tokens = min(
                state.tokens + state.band.rate * 1000.0 * elapsed, _depth(state.band)
            )
            if state.tokens >= cost:
                state.tokens -= cost
            elif exceeded is None or state.band.rate > exceeded.band.rate:
                exceeded = state
        if exceeded is None:
            return True
        exceeded.packets += 1
        exceeded.bytes += octets
        return False


def _depth(band: Band) -> float:
    """Without a burst, Open vSwitch's is one second."""
    return (band.burst or band.rate) * 1000.0
