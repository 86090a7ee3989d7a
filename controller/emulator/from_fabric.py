"""The switches that a fabric says there are."""

from __future__ import annotations

from controller.emulator.personas import Persona
from controller.emulator.ports import PortEntry, QueueState
from controller.emulator.switch import Switch
from controller.fabric.model import Fabric

_MAC_PREFIX = 0x06 << 40
_MAC_PORT_BITS = 16


def switches(fabric: Fabric, persona: Persona, now: float = 0.0) -> dict[str, Switch]:
    """Each switch of the fabric by name, with :func:`ports`. Its description is its name."""
    of_switch = ports(fabric)
    return {
        each.name: Switch(each.dpid, of_switch[each.name], persona, datapath=each.name, now=now)
        for each in fabric.switches
    }


def ports(fabric: Fabric) -> dict[str, list[PortEntry]]:
    """Of each switch by name: a port for each link and NIC, all of them up, and on each port the
    queues of the fabric's classes."""
    queues = sorted({0, *(each.queue for each in fabric.classes)})
    out: dict[str, list[PortEntry]] = {each.name: [] for each in fabric.switches}
    capacity = [(arc.tail, arc.capacity_bps) for arc in fabric.arcs]
    capacity += [(port, nic.capacity_bps) for nic in fabric.nics for port in nic.attachments]
    for port, bps in sorted(capacity):
        index = fabric.switch_index[port.switch]
        entry = PortEntry(
            port.port,
            f"s{index}-eth{port.port}",
            _MAC_PREFIX | index << _MAC_PORT_BITS | port.port,
            int(bps),
            queues={queue: QueueState() for queue in queues},
        )
        out[port.switch].append(entry)
    return out
