"""What an edit of the topology would do to intents: who gains or loses a way, and how full the
worst link would be. Planned from scratch on both fabrics, so the running plan is no part of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations_with_replacement

from controller.engine.planning import make_plan
from controller.fabric.build import natural
from controller.fabric.model import Fabric, Nic
from controller.fabric.reach import parts
from controller.intents.demands import Reach
from controller.intents.expand import demands_of
from controller.intents.kinds import expand
from controller.intents.kinds.expansion import Expansion
from controller.intents.model import IntentSpec
from controller.optimizer.plan import Plan

EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of NICs, how many, and a few of them as ``h1/eth0 to h2/eth0``."""

    count: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IntentProspect:
    """``joining`` and ``leaving`` are NICs. ``gained`` and ``lost`` are pairs of NICs that both
    fabrics have, which have a way in one of them only. ``refused_now`` and ``refused_then``: not
    all that it asks for can be had. ``problems``: what it names and the new fabric has not."""

    name: str
    joining: tuple[str, ...]
    leaving: tuple[str, ...]
    gained: Pairs
    lost: Pairs
    refused_now: bool
    refused_then: bool
    problems: tuple[str, ...]

    @property
    def is_touched(self) -> bool:
        moved = bool(self.joining or self.leaving or self.gained.count or self.lost.count)
        return moved or bool(self.problems) or self.refused_now != self.refused_then


@dataclass(frozen=True, slots=True)
class Prospect:
    """Utilisation of the worst link, as planned for what the intents let NICs send; 0 where nothing
    crosses a link."""

    mlu_before: float
    mlu_after: float
    intents: tuple[IntentProspect, ...]


def prospect(before: Fabric, after: Fabric, intents: Mapping[str, IntentSpec]) -> Prospect:
    """Pure; as slow as two plans."""
    old, new = (
        {name: expand(name, spec, fabric) for name, spec in intents.items()}
        for fabric in (before, after)
    )
    now, then = _plan(before, old), _plan(after, new)
    ways = _Ways(before, after)
    return Prospect(
        now.certificate.mlu,
        then.certificate.mlu,
        tuple(
            IntentProspect(
                name,
                _names(_nics(new[name]) - _nics(old[name])),
                _names(_nics(old[name]) - _nics(new[name])),
                ways.pairs(new[name].reach, becomes=True),
                ways.pairs(old[name].reach, becomes=False),
                name in now.refused,
                name in then.refused,
                tuple(problem.message for problem in new[name].problems),
            )
            for name in sorted(intents, key=natural)
        ),
    )


def _plan(fabric: Fabric, found: Mapping[str, Expansion]) -> Plan:
    reaches = [each.reach for each in found.values() if each.reach.nics]
    flows = [flow for each in found.values() for flow in each.flows]
    return make_plan(fabric, demands_of(fabric, reaches, flows), None, None, plan_id=0)


def _nics(found: Expansion) -> frozenset[str]:
    return found.reach.nics | found.reach.peers


def _names(nics: frozenset[str]) -> tuple[str, ...]:
    return tuple(sorted(nics, key=natural))


class _Ways:
    """Which NICs that both fabrics have can reach each other in them."""

    def __init__(self, before: Fabric, after: Fabric) -> None:
        was, becomes = parts(before), parts(after)
        self._kind = {
            nic.id: (_parts(before.nic_by_id[nic.id], was), _parts(nic, becomes))
            for nic in after.nics
            if nic.id in before.nic_by_id
        }

    def pairs(self, reach: Reach, becomes: bool) -> Pairs:
        """Of ``reach``: those that get a way, or those that lose theirs."""
        count, examples = 0, list[str]()
        for ones, others, is_same in self._groups(reach):
            (was_a, is_a), (was_b, is_b) = self._kind[ones[0]], self._kind[others[0]]
            had, has = bool(was_a & was_b), bool(is_a & is_b)
            if had == has or has != becomes:
                continue
            count += len(ones) * (len(ones) - 1) // 2 if is_same else len(ones) * len(others)
            if len(examples) < EXAMPLES and not (is_same and len(ones) < 2):
                examples.append(f"{ones[0]} to {others[-1]}")
        return Pairs(count, tuple(examples))

    def _groups(self, reach: Reach) -> Iterator[tuple[list[str], list[str], bool]]:
        """Two groups of NICs that are alike, for each two that ``reach`` joins; the same group
        twice for its own pairs."""
        near, far = self._alike(reach.nics), self._alike(reach.peers)
        if reach.peers:
            for ones in near:
                for others in far:
                    yield ones, others, False
        else:
            for ones, others in combinations_with_replacement(near, 2):
                yield ones, others, ones is others

    def _alike(self, nics: frozenset[str]) -> list[list[str]]:
        found: dict[object, list[str]] = defaultdict(list)
        for nic in _names(nics & self._kind.keys()):
            found[self._kind[nic]].append(nic)
        return list(found.values())


def _parts(nic: Nic, part_of: Mapping[str, int]) -> frozenset[int]:
    return frozenset(part_of[port.switch] for port in nic.attachments)
