"""Traffic that follows changes is what traffic that begins anew with them is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.dataplane.compile import compile
from controller.dataplane.tables import Tables
from controller.emulator.events import LivenessChanged
from controller.emulator.flow_table import Entry
from controller.emulator.groups import GroupEntry
from controller.emulator.network import Network
from controller.emulator.ports import QueueState
from controller.emulator.routes import Demand
from controller.emulator.traffic import Traffic
from controller.fabric.model import Fabric
from controller.openflow import messages
from controller.openflow.codec import encode
from controller.openflow.messages import FlowCommand, GroupCommand, PortConfig
from controller.openflow.model import ApplyActions, GroupType, Output, Port
from tests.dataplane import fabrics
from tests.emulator.networks import VERSION, install, network, with_capacity

pytestmark = pytest.mark.once

FABRICS = (
    with_capacity(fabrics.leaf_spine(3, 2, 2), 1e9, 2e9),
    with_capacity(fabrics.dual_homed(3, 2), 1e9, 2e9),
    with_capacity(fabrics.fat_tree(4, 1), 1e9, 2e9),
)
QUEUES = {0: QueueState(), 3: QueueState(400, 900)}


@cache
def tables_of(number: int) -> Tables:
    fabric = FABRICS[number]
    asked = fabrics.demands(fabric)
    return compile(fabric, fabrics.plan(fabric, asked, trees=3), asked)


def built(number: int) -> Network:
    net = network(FABRICS[number], queues=QUEUES)
    for name, of_switch in tables_of(number).items():
        switch = net.nodes[name].switch
        assert switch is not None
        install(switch, of_switch)
        net.connect(name, "c", 0.0)
        hello = encode(messages.Hello((VERSION,)), VERSION, 1)
        net.receive(name, "c", hello, 0.0)
    net.advance(0.0)
    return net


# ---- Edits: of a network, with two numbers that choose what ----


def say(net: Network, switch: str, message: object) -> None:
    net.receive(switch, "c", encode(message, VERSION, 1), net.now)


def some_switch(net: Network, number: int) -> str:
    names = sorted(net.nodes)
    return names[number % len(names)]


def some_entry(net: Network, switch: str, number: int) -> Entry | None:
    place = net.nodes[switch].switch
    entries = [] if place is None else [e for table in place.state.tables for e in table]
    return entries[number % len(entries)] if entries else None


def some_group(net: Network, switch: str, number: int) -> GroupEntry | None:
    place = net.nodes[switch].switch
    groups = [] if place is None else place.state.groups.all()
    return groups[number % len(groups)] if groups else None


def cut_or_mend(net: Network, a: int, b: int) -> None:
    wires = sorted(net.wires)
    name = wires[a % len(wires)]
    (net.cut if net.wires[name].up else net.mend)(name, net.now)


def lose(net: Network, a: int, b: int) -> None:
    wires = sorted(net.wires)
    net.wires[wires[a % len(wires)]].directions[b % 2].loss = (0.0, 0.25, 1.0)[b // 2 % 3]
    net.wires_version += 1


def power(net: Network, a: int, b: int) -> None:
    name = some_switch(net, a)
    (net.power_on if net.nodes[name].switch is None else net.power_off)(name, net.now)


def configure_port(net: Network, a: int, b: int) -> None:
    name = some_switch(net, a)
    place = net.nodes[name].switch
    if place is None:
        return
    ports = [p for p in place.state.ports.all() if p.number < Port.MAX]
    port = ports[b % len(ports)]
    bit = (PortConfig.PORT_DOWN, PortConfig.NO_FWD)[b // len(ports) % 2]
    say(net, name, messages.PortMod(port.number, port.mac, ~port.config & bit, bit))


def doubt_port(net: Network, a: int, b: int) -> None:
    node = net.nodes[some_switch(net, a)]
    if node.switch is not None:
        ports = node.switch.state.ports.all()
        port = ports[b % len(ports)]
        net.tell(node, LivenessChanged(port.number, not port.forwarding), net.now)


def delete_flow(net: Network, a: int, b: int) -> None:
    name = some_switch(net, a)
    entry = some_entry(net, name, b)
    if entry is not None:
        command = FlowCommand.DELETE_STRICT
        say(net, name, messages.FlowMod(command, entry.table, entry.priority, entry.match))


def divert_flow(net: Network, a: int, b: int) -> None:
    name = some_switch(net, a)
    entry = some_entry(net, name, b)
    if entry is not None:
        target = (1, 2, 3, Port.IN_PORT, Port.FLOOD, Port.CONTROLLER)[a // 7 % 6]
        doing = (ApplyActions((Output(target),)),)
        add = messages.FlowMod(FlowCommand.ADD, entry.table, entry.priority, entry.match, doing)
        say(net, name, add)


def change_group(net: Network, a: int, b: int) -> None:
    name = some_switch(net, a)
    group = some_group(net, name, b)
    if group is None or not group.buckets:
        return
    buckets = group.definition
    turn = a // 5 % len(buckets)
    buckets = buckets[turn:] + buckets[:turn]
    if a % 3 == 0 and len(buckets) > 1:
        buckets = buckets[1:]
    elif group.type is GroupType.SELECT:
        buckets = (replace(buckets[0], weight=buckets[0].weight * 3), *buckets[1:])
    command = GroupCommand.MODIFY
    say(
        net,
        name,
        messages.GroupMod(command, group.type, group.id, buckets, selection=group.selection),
    )


EDITS: tuple[Callable[[Network, int, int], None], ...] = (
    *(cut_or_mend, cut_or_mend, cut_or_mend, configure_port, doubt_port, delete_flow),
    *(divert_flow, change_group, change_group, lose, power),
)


# ---- The property ----


@st.composite
def offers(draw: st.DrawFn, fabric: Fabric) -> list[Demand]:
    nics = [nic.id for nic in fabric.nics]
    found = []
    for _ in range(draw(st.integers(1, 8))):
        source, target = draw(st.permutations(nics))[:2]
        found.append(
            Demand(
                source,
                target,
                draw(st.sampled_from([1e6, 3e8, 2e9])),
                draw(st.sampled_from([0, 26])),
                draw(st.sampled_from([4, 6])),
                protocol=draw(st.sampled_from([6, 17])),
                flows=draw(st.sampled_from([None, None, 1, 5])),
                frame_bytes=draw(st.sampled_from([100, 1500])),
                adapts=draw(st.booleans()),
            )
        )
    return found


def read_all(net: Network) -> list[tuple[object, ...]]:
    """All counters of all switches, in an order that changes of the network do not touch."""
    found: list[tuple[object, ...]] = []
    for name, node in sorted(net.nodes.items()):
        net.before_reading(name)
        if node.switch is None:
            continue
        state = node.switch.state
        for port in state.ports.all():
            of_port = port.rx_packets, port.rx_bytes, port.tx_packets, port.tx_bytes
            found.append((name, "port", port.number, *of_port, port.tx_dropped))
            for number, queue in port.queues.items():
                of_queue = queue.tx_packets, queue.tx_bytes, queue.tx_dropped
                found.append((name, "queue", (port.number, number), *of_queue))
        for number, table in enumerate(state.tables[:6]):
            found.append((name, "table", number, table.lookups, table.matched))
            for entry in table:
                key = number, entry.priority, entry.value, entry.mask
                found.append((name, "flow", key, entry.packets, entry.bytes))
        for group in state.groups.all():
            found.append((name, "group", group.id, group.packets, group.bytes))
            for bucket in group.buckets:
                of_bucket = group.id, bucket.bucket.id
                found.append((name, "bucket", of_bucket, bucket.packets, bucket.bytes))
    return sorted(found, key=lambda row: repr(row[:3]))


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_traffic_that_follows_changes_is_that_of_a_fresh_model(data: st.DataObject) -> None:
    """Rates, latencies, drops and every counter: two networks with the same edits, of which one
    gets a new model after each."""
    number = data.draw(st.integers(0, len(FABRICS) - 1))
    nets = built(number), built(number)
    demands = data.draw(offers(FABRICS[number]))
    following, fresh = (Traffic(net) for net in nets)
    following.offer(demands)
    fresh.offer(demands)
    fresh.report()
    edits = data.draw(
        st.lists(
            st.tuples(st.sampled_from(EDITS), st.integers(0, 999), st.integers(0, 9999)),
            min_size=1,
            max_size=8,
        )
    )
    for step, (edit, a, b) in enumerate(edits, 1):
        for net in nets:
            edit(net, a, b)
            net.advance(step - 0.5)
            for name in net.nodes:
                net.before_reading(name)
        if a % 4 == 0:
            demands = [*demands[a // 4 % 2 :], replace(demands[0], dscp=26 - demands[0].dscp)]
            following.offer(demands)
        fresh = Traffic(nets[1])
        fresh.offer(demands)
        assert_alike(following, fresh, len(demands))
        for net in nets:
            net.advance(float(step))
    slack = 2 * len(edits) * (len(demands) + 2)
    for mine, theirs in zip(read_all(nets[0]), read_all(nets[1]), strict=True):
        assert mine[:3] == theirs[:3]
        assert mine[3:] == pytest.approx(theirs[3:], rel=1e-6, abs=slack), mine[:3]


def assert_alike(following: Traffic, fresh: Traffic, count: int) -> None:
    mine, theirs = following.report(), fresh.report()
    for name in theirs.__dataclass_fields__:
        a, b = getattr(mine, name), getattr(theirs, name)
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-3, err_msg=name)
    for each in range(count):
        assert following.fates(each) == pytest.approx(fresh.fates(each))
    a_loads = {end: load for end, load in following.loads().items() if load > 1e-3}
    b_loads = {end: load for end, load in fresh.loads().items() if load > 1e-3}
    assert a_loads == pytest.approx(b_loads)
