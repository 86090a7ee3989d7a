"""Numbers of egresses, trees and zones: who has one keeps it, and nobody gets one that rules in
some switch may still stand for.

A switch without a session keeps the rules of the last plan that it was given. If a later plan gave
a number of those another meaning, a packet could loop between old and new ways of one tree, or go
where its sender may not. So the numbers that a plan no longer uses stay ``Retired`` until every
switch is known to hold one plan and nothing older.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import TypeVar

from controller.optimizer.plan import Plan, PlannedEgress, PlannedTree, Retired

Name = TypeVar("Name", bound=Hashable)


def numbers_of(plan: Plan | None) -> Retired:
    """All numbers that the plan uses."""
    if plan is None:
        return Retired()
    return _numbers(plan.egresses, plan.trees, plan.zones)


def _numbers(
    egresses: Sequence[PlannedEgress],
    trees: Sequence[PlannedTree],
    zones: Mapping[frozenset[str], int],
) -> Retired:
    return Retired(
        frozenset(e.id for e in egresses),
        frozenset((t.egress, t.id) for t in trees),
        frozenset(zones.values()),
    )


def taken(previous: Plan | None, settled: bool) -> Retired:
    """The numbers that nothing new may have after ``previous``: its own, and, unless every switch
    holds just that plan (``settled``), those that were retired before."""
    used = numbers_of(previous)
    if previous is None or settled:
        return used
    old = previous.retired
    return Retired(used.egresses | old.egresses, used.trees | old.trees, used.zones | old.zones)


def retired(
    before: Retired,
    egresses: Sequence[PlannedEgress],
    trees: Sequence[PlannedTree],
    zones: Mapping[frozenset[str], int],
) -> Retired:
    """What of the numbers ``taken`` before a plan with these egresses, trees and zones does not
    use."""
    used = _numbers(egresses, trees, zones)
    return Retired(
        before.egresses - used.egresses, before.trees - used.trees, before.zones - used.zones
    )


def numbered(
    wanted: Sequence[Name],
    before: Mapping[Name, int],
    taken: Collection[int],
    numbers: range,
    what: str,
) -> dict[Name, int]:
    """Known things keep their number, new ones get the lowest that is not ``taken``.

    Raises ValueError when ``numbers`` run out.
    """
    free = (number for number in numbers if number not in taken)
    out: dict[Name, int] = {}
    for name in wanted:
        number = before[name] if name in before else next(free, None)
        if number is None:
            raise ValueError(
                f"no {what} number left of {len(numbers)}, {name!r} cannot be planned: numbers of "
                "what is gone come back once every switch is connected and holds the newest plan"
            )
        out[name] = number
    return out
