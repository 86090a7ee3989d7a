"""What somebody without Heald would put into switches: one path for one flow, and its backup.

The same switch does both at the same time, so what the two lose can be compared. Rules and groups
have numbers outside of Heald's, which leaves them alone.
"""

from __future__ import annotations

from controller.fabric.model import Fabric, Nic
from controller.lab.handle import Lab

UDP_PORT = 9999
PRIORITY = 60000
COOKIE = "0xfade"


class HandMade:
    """Paths between two leaves by either spine of a leaf-spine, the first while it lives."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._group = 0

    def path(self, source: str, target: str, spine: str, other: str, bounce: str) -> None:
        """From host to host by ``spine``. Where its link to the leaf of the source is dead, by
        ``other``; where that to the leaf of the target is, over leaf ``bounce`` and ``other``."""
        fabric = self._lab.fabric
        a, b = _nic(fabric, source), _nic(fabric, target)
        (first,), (last,) = a.attachments, b.attachments
        to = f"udp,nw_dst={b.addresses[0]},tp_dst={UDP_PORT}"
        up = [_port(fabric, first.switch, s) for s in (spine, other)]
        self._flow(first.switch, f"in_port={first.port},{to}", self._failover(first.switch, up))
        down = [_port(fabric, spine, leaf) for leaf in (last.switch, bounce)]
        self._flow(spine, to, self._failover(spine, down))
        self._flow(other, to, f"output:{_port(fabric, other, last.switch)}")
        back = _port(fabric, bounce, spine)
        self._flow(
            bounce, f"in_port={back},{to}", f"output:{_port(fabric, bounce, other)}", PRIORITY + 1
        )
        mac = b.mac.to_bytes(6, "big").hex(":")
        self._flow(last.switch, to, f"set_field:{mac}->eth_dst,output:{last.port}")

    def remove(self) -> None:
        for switch in self._lab.fabric.switches:
            self._lab.ovs_ofctl("del-flows", switch.name, f"cookie={COOKIE}/-1")
            for group in range(1, self._group + 1):
                self._lab.ovs_ofctl("del-groups", switch.name, f"group_id={group}")

    def _failover(self, switch: str, ports: list[int]) -> str:
        self._group += 1
        buckets = ",".join(f"bucket=watch_port:{port},actions=output:{port}" for port in ports)
        self._lab.ovs_ofctl("add-group", switch, f"group_id={self._group},type=ff,{buckets}")
        return f"group:{self._group}"

    def _flow(self, switch: str, match: str, actions: str, priority: int = PRIORITY) -> None:
        flow = f"cookie={COOKIE},table=0,priority={priority},{match},actions={actions}"
        self._lab.ovs_ofctl("add-flow", switch, flow)


def _nic(fabric: Fabric, host: str) -> Nic:
    (nic,) = fabric.host_by_name[host].nics
    return nic


def _port(fabric: Fabric, switch: str, neighbour: str) -> int:
    return next(a.tail.port for a in fabric.arcs_from[switch] if a.head.switch == neighbour)
