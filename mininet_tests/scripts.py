"""Random conversations: bundles, roles of two controllers, and tables that fill."""

from __future__ import annotations

from random import Random
from typing import Any

from controller.openflow import messages as m
from controller.openflow.bodies import TableDescRequest
from controller.openflow.codec import encode
from controller.openflow.model import (
    ApplyActions,
    Bucket,
    Field,
    GroupType,
    Match,
    Output,
    Port,
    ToGroup,
)
from mininet_tests.programs import program

_FROM_CONTROLLER = Match.of({Field.IN_PORT: Port.CONTROLLER})
_UNUSUAL = (
    m.BarrierRequest(),
    m.RoleRequest(m.Role.EQUAL),
    m.PortMod(1, 5, 0, 0),
    m.PortMod(99, 5, 0, 0),
    m.PacketOut(_FROM_CONTROLLER, (Output(1),), bytes(60)),
    m.PacketOut(_FROM_CONTROLLER, (ToGroup(55),), bytes(60)),
)


def bundles(seed: int) -> tuple[int, list[bytes]]:
    """(version, messages): requests of a program by way of two bundles, not always properly."""
    random = Random(seed)
    made = program(seed)
    version = made.version
    requests = list(made.requests)
    said = []
    for xid in range(100, 100 + random.randint(4, 14)):
        bundle = random.choice((1, 2))
        flags = random.choice((0, 1, 3, 3, 3, 3, 2))
        pick = random.random()
        message: Any
        if pick < 0.25:
            message = m.BundleControl(bundle, m.BundleCommand.OPEN_REQUEST, flags)
        elif pick < 0.7 and requests:
            own_xid = xid if random.random() < 0.97 else xid + 1
            inner = requests.pop(0)
            inner = inner[:4] + own_xid.to_bytes(4, "big") + inner[8:]
            if random.random() < 0.05:
                inner = encode(random.choice(_UNUSUAL), version, xid)
            message = m.BundleAdd(bundle, inner, flags)
        elif pick < 0.78:
            message = m.BundleControl(bundle, m.BundleCommand.CLOSE_REQUEST, flags)
        elif pick < 0.93:
            message = m.BundleControl(bundle, m.BundleCommand.COMMIT_REQUEST, flags)
        elif pick < 0.97:
            message = m.BundleControl(bundle, m.BundleCommand.DISCARD_REQUEST, flags)
        else:
            message = m.BundleControl(bundle, random.choice((1, 3, 9)), flags)
        said.append(encode(message, version, xid))
    discard = m.BundleCommand.DISCARD_REQUEST
    return version, said + [encode(m.BundleControl(n, discard), version, 999) for n in (1, 2)]


def roles(seed: int, version: int) -> list[tuple[int, bytes]]:
    """(which of two controllers, message), one after the other."""
    random = Random(seed)
    base = random.choice((0, 5, (1 << 64) - 2, 1 << 63))
    said = []
    for xid in range(100, 112):
        generation = (base + random.randrange(4)) & 0xFFFFFFFFFFFFFFFF
        message: Any = random.choice(
            (
                m.RoleRequest(random.choice((0, 1, 2, 3)), generation),
                m.RoleRequest(random.choice((2, 3, 3, 9)), generation),
                m.FlowMod(m.FlowCommand.ADD, 0, xid, Match()),
                m.GroupMod(m.GroupCommand.DELETE, 0, 1),
                m.BarrierRequest(),
                m.PacketOut(_FROM_CONTROLLER, (Output(1),), bytes(60)),
                m.GetAsyncRequest(),
            )
        )
        said.append((random.randrange(2), encode(message, version, xid)))
    return said


def tables(seed: int, room: int) -> list[bytes]:
    """OpenFlow 1.5 to a switch whose first table has room for so many flows: modifications of
    tables, flows beyond its room, groups that take flows with them, bundles, and what tables say.

    No two flows expire at the same time, nor within the second by which Open vSwitch tells them
    apart.
    """
    random = Random(seed)
    said: list[bytes] = []
    lifetimes = random.sample(range(100, 4000, 4), 40)

    def flow() -> m.FlowMod:
        where = Match.of({Field.IN_PORT: random.randint(1, room + 6)})
        pick = random.random()
        if pick < 0.2:
            command = random.choice((m.FlowCommand.DELETE_STRICT, m.FlowCommand.DELETE))
            return m.FlowMod(command, 0, 10, where)
        if pick < 0.25:
            return m.FlowMod(m.FlowCommand.DELETE, 0, 0, Match())
        if pick < 0.3:
            return m.FlowMod(m.FlowCommand.MODIFY, 0, 0, where, (ApplyActions((Output(2),)),))
        action = ToGroup(1) if random.random() < 0.2 else Output(1)
        expires = random.random() < 0.7 and lifetimes
        return m.FlowMod(
            m.FlowCommand.ADD,
            0,
            10,
            where,
            (ApplyActions((action,)),),
            hard_timeout=lifetimes.pop() if expires else 0,
            importance=random.choice((0, 0, 1, 5)),
            flags=m.FlowFlag.SEND_FLOW_REM if random.random() < 0.5 else 0,
        )

    def table() -> m.TableMod:
        down, up = sorted((random.randint(0, 100), random.randint(0, 101)))
        if random.random() < 0.1:
            down, up = up, down
        now = int(random.random() < 0.05)
        number = random.choice((0, 0, 0, 0, 255, 254))
        # Of the other tables, which Open vSwitch has without a limit, nothing is asked.
        config = random.choice((0, 4)) if number == 255 else random.choice((0, 4, 8, 8, 12, 12))
        return m.TableMod(
            number,
            config,
            random.choice((None, None, None, None, 0, 1, 2, 3, 7)),
            m.Vacancy(down, up, now) if random.random() < 0.8 else None,
        )

    def add(message: Any, xid: int) -> None:
        said.append(encode(message, 6, xid))

    for xid in range(100, 140):
        pick = random.random()
        if pick < 0.15:
            add(table(), xid)
        elif pick < 0.25:
            add(TableDescRequest(), xid)
        elif pick < 0.3:
            bucket = Bucket(0, (Output(1),))
            add(m.GroupMod(m.GroupCommand.ADD, GroupType.INDIRECT, 1, (bucket,)), xid)
        elif pick < 0.33:
            add(m.GroupMod(m.GroupCommand.DELETE, 0, 1), xid)
        elif pick < 0.4:
            add(m.BundleControl(1, m.BundleCommand.OPEN_REQUEST, 3), xid)
            for _ in range(random.randint(1, 8)):
                add(m.BundleAdd(1, encode(flow(), 6, xid), 3), xid)
            add(m.BundleControl(1, m.BundleCommand.COMMIT_REQUEST, 3), xid)
        else:
            add(flow(), xid)
    add(TableDescRequest(), 140)
    return said
