"""Random conversations: bundles, and roles of two controllers."""

from __future__ import annotations

from random import Random
from typing import Any

from controller.openflow import messages as m
from controller.openflow.codec import encode
from controller.openflow.model import Field, Match, Output, Port, ToGroup
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
