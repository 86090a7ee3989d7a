"""Plans as they are made, in switches as they are compiled, under every failure that there is.

``pytest -s`` prints how many pairs several failures leave without a way until the controller acts,
though there is one.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import pytest

from controller.dataplane import labels
from controller.dataplane.compile import compile
from controller.dataplane.tables import SwitchTables, Tables
from controller.dataplane.walk import Walker, dead_ports
from controller.engine.planning import make_plan
from controller.fabric.model import Fabric, Nic
from controller.intents.expand import connectivity
from controller.openflow.model import Action, Field, SetField
from tests.dataplane import fabrics
from tests.dataplane.every_failure import EveryFailure, LoopError

pytestmark = pytest.mark.once

Failures = tuple[str, ...]


def torus(n: int = 3) -> Fabric:
    edges = [
        (f"t{x}{y}", f"t{x2 % n}{y2 % n}")
        for x in range(n)
        for y in range(n)
        for x2, y2 in ((x + 1, y), (x, y + 1))
    ]
    return fabrics.fabric(edges, [(f"t{x}{y}",) for x in range(n) for y in range(n)])


SMALL: dict[str, Callable[[], Fabric]] = {
    "fat-tree k=4": fabrics.fat_tree,
    "leaf-spine 4x2": lambda: fabrics.leaf_spine(4, 2, 1),
    "leaf-spine 6x4": lambda: fabrics.leaf_spine(6, 4, 1),
    "dual-homed": fabrics.dual_homed,
    "ring": fabrics.ring,
    "torus": torus,
}
LARGE = "fat-tree k=8"
SAMPLED = 20_000
SEED = 1


@cache
def compiled(name: str) -> tuple[Fabric, Tables]:
    net = fabrics.fat_tree(8) if name == LARGE else SMALL[name]()
    demands = connectivity(net, {"all": frozenset(net.nic_by_id)})
    plan = make_plan(net, demands, None, None, plan_id=1)
    return net, compile(net, plan, demands)


def things(net: Fabric) -> list[str]:
    return [*(link.name for link in net.links), *net.switch_by_name]


def up_to(net: Fabric, most: int) -> list[Failures]:
    return [failed for n in range(1, most + 1) for failed in itertools.combinations(things(net), n)]


def pairs(net: Fabric) -> list[tuple[Nic, Nic]]:
    """One NIC of each set of switches."""
    return list(itertools.permutations({n.attachment_set: n for n in net.nics}.values(), 2))


def packet(net: Fabric, a: Nic, b: Nic) -> dict[Field, int]:
    return fabrics.packet(a, b) | {Field.ETH_DST: net.gateway_mac}


def lost(name: str, sets: Sequence[Failures]) -> dict[tuple[str, str], int]:
    """For each pair a bit for each set in which it may lose packets; LoopError if any can loop."""
    net, tables = compiled(name)
    return lost_by(net, EveryFailure(net, tables, sets))


def lost_by(net: Fabric, every: EveryFailure) -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = {}
    for a, b in pairs(net):
        for port in a.attachments:
            bits = every.lost(port, b, packet(net, a, b))
            found[a.id, b.id] = found.get((a.id, b.id), 0) | bits
    return found


def described(sets: Sequence[Failures], bits: int) -> list[Failures]:
    return [sets[i] for i in range(bits.bit_length()) if bits >> i & 1][:5]


def judge(name: str, sets: Sequence[Failures]) -> None:
    """No loop, nothing lost in sets of one; says what is lost in the others."""
    began = time.process_time()
    net, tables = compiled(name)
    every = EveryFailure(net, tables, sets)
    found = lost_by(net, every)
    joined = {b.id: every.joined(b) for b in net.nics}
    helpless = {
        (a.id, b.id): found[a.id, b.id] & joined[b.id][a.attachments[0].switch]
        for a, b in pairs(net)
    }
    single = sum(1 << i for i, failed in enumerate(sets) if len(failed) == 1)
    for pair, bits in found.items():
        assert not bits & single, (pair, described(sets, bits & single))
    said = []
    for n in sorted({len(failed) for failed in sets} - {1}):
        of_size = sum(1 << i for i, failed in enumerate(sets) if len(failed) == n)
        share = sum((bits & of_size).bit_count() for bits in helpless.values())
        share /= len(found) * of_size.bit_count()
        said.append(f"{n} at once lose packets of {share:.2%} of pairs that are still joined")
    print(
        f"\n{name}: {len(sets)} sets of failures in {time.process_time() - began:.1f} s of CPU: "
        f"no loop, nothing lost in any single one; {', '.join(said)}"
    )


@pytest.mark.parametrize("name", SMALL)
def test_no_three_failures_loop_and_no_single_one_loses_anything(name: str) -> None:
    judge(name, up_to(compiled(name)[0], 3))


def test_the_same_on_a_large_fabric_with_a_sample_of_several_failures() -> None:
    net, _ = compiled(LARGE)
    rng = random.Random(SEED)
    several = [tuple(rng.sample(things(net), rng.choice((2, 3)))) for _ in range(SAMPLED)]
    judge(LARGE, [*up_to(net, 1), *several])


@pytest.mark.parametrize("name", SMALL)
def test_it_is_what_a_walk_with_these_ports_dead_says(name: str) -> None:
    """All sets at once, against the other reading of the tables, one set at a time."""
    net, tables = compiled(name)
    rng = random.Random(SEED)
    sets = [tuple(rng.sample(things(net), rng.choice((1, 2, 3)))) for _ in range(12)]
    found = lost(name, sets)
    walker = Walker(net, tables)
    for row, failed in enumerate(sets):
        switches = set(failed) & set(net.switch_by_name)
        dead = dead_ports(net, set(failed) - switches, switches)
        walked = walker.with_dead(dead)
        for a, b in pairs(net):
            (at, *_) = a.attachments
            if at in dead or dead.issuperset(b.attachments) or len(a.attachments) > 1:
                continue
            ends = walked.walk(at, packet(net, a, b))
            arrives = all(end.reached(b) for end in ends)
            assert arrives == (not found[a.id, b.id] >> row & 1), (a.id, b.id, failed)


def without_generations(of_switch: SwitchTables) -> SwitchTables:
    def action(one: Action) -> Action:
        if isinstance(one, SetField) and one.field is Field.ETH_DST and one.value >> 40 in (0, 14):
            return replace(one, value=one.value & ~labels.GENERATION_MASK)
        return one

    groups = {
        number: replace(
            group,
            buckets=tuple(
                replace(bucket, actions=tuple(map(action, bucket.actions)))
                for bucket in group.buckets
            ),
        )
        for number, group in of_switch.groups.items()
    }
    return SwitchTables(of_switch.flows, groups, of_switch.meters)


def test_a_loop_is_found() -> None:
    """Without generations two dead links of a ring send packets round for ever."""
    net, tables = compiled("ring")
    naive = {name: without_generations(of_switch) for name, of_switch in tables.items()}
    every = EveryFailure(net, naive, up_to(net, 2))
    a, b = pairs(net)[1]
    with pytest.raises(LoopError):
        every.lost(a.attachments[0], b, packet(net, a, b))
