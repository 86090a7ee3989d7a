"""Rates of links: HTB in the kernel, set up by Open vSwitch on switch ports and by tc on hosts.

Open vSwitch owns the HTB of its ports, so that OpenFlow queue statistics count what the link drops.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from controller.lab.dscp_filter import dscp_filter
from controller.lab.wiring import HostNic, Queue, SwitchPort
from controller.ovsdb.queues import OURS
from controller.ovsdb.rows import MARK

_BURST_S = 0.010
"""Tokens saved up while idle: bridges the pauses of a loaded machine without bending the rate."""
_MIN_BURST_BYTES = 15_000
_QUEUE_PACKETS = 16
"""Open vSwitch sends on one socket for all ports, whose buffer holds about 90 full packets. More in
the queues of all busy ports together, and packets are lost at the socket, whatever their port and
class."""
_HOST_BURST_S = 0.001
_HOST_QUEUE_PACKETS = 100


def burst_bytes(capacity_bps: float) -> int:
    return max(_MIN_BURST_BYTES, int(capacity_bps * _BURST_S / 8))


def qos_commands(port: SwitchPort, queues: Sequence[Queue], tag: str) -> list[str]:
    """Arguments of ovs-vsctl that give one port an HTB with its queues.

    Queues have equal guarantees, and each may take the whole link. ``tag`` makes the row names
    unique in the transaction. Where there are classes to tell apart, the rows are as if Heald had
    made them, so that a controller gives the queues their shares: a port of hardware, too, has its
    rate before anybody says anything.
    """
    mark = [f"external-ids:{MARK}={OURS}"] if len(queues) > 1 else []
    rate = int(port.capacity_bps)
    burst = burst_bytes(port.capacity_bps) * 8
    args = ["--", "set", "port", port.interface, f"qos=@qos{tag}"]
    args += ["--", f"--id=@qos{tag}", "create", "QoS", "type=linux-htb"]
    args += [f"other-config:max-rate={rate}"]
    args += [f"queues:{q.queue}=@q{tag}_{q.queue}" for q in queues] + mark
    for q in queues:
        args += ["--", f"--id=@q{tag}_{q.queue}", "create", "Queue"]
        args += [f"other-config:min-rate={rate // len(queues)}"]
        args += [f"other-config:max-rate={rate}", f"other-config:burst={burst}", *mark]
    return args


def queue_batch(queues_of: Iterable[tuple[SwitchPort, Sequence[Queue]]]) -> str:
    """Input of ``tc -batch`` for ports shaped by Open vSwitch: short queues, DSCP to class. The
    same again changes nothing and loses nothing."""
    lines = []
    for port, queues in queues_of:
        dev, rate = port.interface, int(port.capacity_bps)
        # Open vSwitch gives the root class a burst of one packet, which a late timer wastes.
        lines.append(
            f"class change dev {dev} classid 1:fffe htb rate {rate}bit "
            f"burst {burst_bytes(rate)}b cburst {burst_bytes(rate)}b quantum 3028"
        )
        for q in queues:
            lines.append(
                f"qdisc replace dev {dev} parent 1:{q.queue + 1:x} pfifo limit {_QUEUE_PACKETS}"
            )
        if len(queues) > 1:
            lines.append(
                f"filter replace dev {dev} parent 1: protocol all prio 1 handle 1 "
                f"bpf bytecode '{dscp_filter(queues)}'"
            )
    return "\n".join(lines) + "\n"


def host_batch(nic: HostNic) -> str:
    """Input of ``tc -batch`` in the host's namespace: the NIC sends at its own rate."""
    dev, rate = nic.interface, int(nic.capacity_bps)
    # Small, so that a sender fills a slower link's queue no faster than its NIC's rate.
    burst = max(3 * 1514, int(rate * _HOST_BURST_S / 8))
    return (
        f"qdisc add dev {dev} root handle 1: htb default 1\n"
        f"class add dev {dev} parent 1: classid 1:1 "
        f"htb rate {rate}bit burst {burst}b quantum 3028\n"
        f"qdisc add dev {dev} parent 1:1 pfifo limit {_HOST_QUEUE_PACKETS}\n"
    )
