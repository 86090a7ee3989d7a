"""How long a second of traffic takes: ``python -m tests.emulator.bench_traffic [k]``.

A fat-tree of k-port switches with the tables that the compiler makes of four trees for each edge,
and ``4 k³`` demands between random NICs, of both kinds, IP versions and classes. Seconds are CPU
time of this process.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable

import numpy as np

from controller.dataplane.compile import compile
from controller.emulator.routes import Demand
from controller.emulator.traffic import Traffic
from controller.fabric.model import Fabric
from controller.intents.demands import DemandKey, Demands, Reach
from tests.dataplane import fabrics
from tests.emulator.networks import install, network


def built(k: int) -> Traffic:
    fabric = fabrics.fat_tree(k, k // 2)
    sets = sorted({nic.attachment_set for nic in fabric.nics})
    keys = tuple(
        sorted(
            DemandKey(a[0], b, c.name) for a in sets for b in sets if a != b for c in fabric.classes
        )
    )
    everyone = Reach("all", frozenset(nic.id for nic in fabric.nics))
    asked = Demands(1, (everyone,), keys, (1e6,) * len(keys))
    tables = compile(fabric, fabrics.plan(fabric, asked, trees=4), asked)
    net = network(fabric)
    for name, of_switch in tables.items():
        switch = net.nodes[name].switch
        assert switch is not None
        install(switch, of_switch)
    return Traffic(net)


def demands(fabric: Fabric, count: int) -> list[Demand]:
    rng = random.Random(1)
    nics = [nic.id for nic in fabric.nics]
    out = []
    for _ in range(count):
        source, target = rng.sample(nics, 2)
        dscp, version = rng.choice((0, 26)), rng.choice((4, 6))
        adapts = rng.random() < 0.5
        out.append(Demand(source, target, 1e6, dscp, version, adapts=adapts))
    return out


def main(k: int) -> None:
    found: list[Traffic] = []
    timed("compile and install", lambda: found.append(built(k)))
    (traffic,) = found
    net = traffic._network
    count = 4 * k**3
    traffic.offer(demands(net.fabric, count))
    rng = np.random.default_rng(1)

    def second() -> None:
        net.advance(net.now + 1.0)

    def other_rates(most: float) -> None:
        traffic.set_rates(rng.uniform(0.0, most, count))
        second()

    def settled() -> None:
        second()
        for name in net.nodes:
            traffic.settle(name)

    links = {link.name for link in net.fabric.links}

    def used(layer: str) -> list[str]:
        """Links that carry something, from switches of a layer upwards."""
        above = {"e": "a", "a": "c"}[layer]
        ends = [end for end, load in traffic.loads().items() if load and str(end)[0] == layer]
        wires = [net.wire_at[end] for end in ends]
        names = {wire.name for wire, way in wires if str(way.head)[0] == above}
        return sorted(names & links)

    def one_down(layer: str, where: str) -> None:
        name = random.Random(net.now).choice(used(layer))
        net.cut(name, net.now)
        timed(f"second, {name} goes down, {where}", second)

    timed("first second, nothing known", second)
    for _ in range(3):
        timed("second, nothing changes", second)
        timed("second, all counters of all switches written", settled)
        timed("second, all rates new, links hardly full", lambda: other_rates(1e6))
        timed("second, all rates new, a third of the links full", lambda: other_rates(2e8))
        one_down("e", "a third of the links full")
        one_down("a", "a third of the links full")
        other_rates(1e6)
        one_down("e", "links hardly full")
        one_down("a", "links hardly full")


def timed(what: str, action: Callable[[], object]) -> None:
    begin = time.process_time()
    action()
    print(f"{1000 * (time.process_time() - begin):9.1f} ms  {what}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 16)
