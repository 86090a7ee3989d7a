"""Exact spanning of address sets by prefixes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence


def spanning(wanted: Iterable[int], known: Sequence[int], bits: int) -> list[tuple[int, int]]:
    """The fewest prefixes that hold all of ``wanted`` and nothing else of ``known``.

    ``known`` is sorted and unique and holds ``wanted``; addresses are ``bits`` wide. Returns
    ``(address, prefix length)``, sorted. Each is the longest common prefix of what it holds, halved
    while it holds a known address that is not wanted.
    """
    out: list[tuple[int, int]] = []
    pending = [sorted(set(wanted))]
    while pending:
        inside = pending.pop()
        if not inside:
            continue
        host_bits = (inside[0] ^ inside[-1]).bit_length()
        low = inside[0] >> host_bits << host_bits
        high = low + (1 << host_bits)
        if bisect_left(known, high) - bisect_left(known, low) == len(inside):
            out.append((low, bits - host_bits))
        else:
            middle = bisect_left(inside, low + (1 << host_bits - 1))
            pending += [inside[:middle], inside[middle:]]
    return sorted(out)
