"""The tc classifier that puts packets into Open vSwitch's HTB classes by their DSCP.

``set_queue`` has no effect in the userspace datapath, so the lab classifies what the switch marked.
"""

from __future__ import annotations

from collections.abc import Sequence

from controller.lab.wiring import Queue

# Classic BPF (linux/filter.h): load, compare and return opcodes.
_LDH_ABS, _LDB_ABS, _RSH, _AND, _JEQ, _JA, _RET = 0x28, 0x30, 0x74, 0x54, 0x15, 0x05, 0x06
_ETHERTYPE, _IPV4_TOS, _IPV6_CLASS = 12, 15, 14


def class_id(queue: int) -> int:
    """The HTB class 1:(queue + 1) that Open vSwitch makes for a queue."""
    return (1 << 16) | (queue + 1)


def dscp_filter(queues: Sequence[Queue]) -> str:
    """A program in tc's ``bytecode`` format, returning the class of an untagged Ethernet frame.
    What has another DSCP goes to the queue without any; that is the last where queue 0, which every
    port has, is of no class."""
    table = [(dscp, class_id(q.queue)) for q in queues for dscp in q.dscps]
    others = [q for q in queues if not q.dscps] or queues[:1]
    default = (_RET, 0, 0, class_id(others[-1].queue))
    ipv6 = [(_LDH_ABS, 0, 0, _IPV6_CLASS), (_RSH, 0, 0, 6), (_AND, 0, 0, 0x3F)]
    ipv4 = [(_LDB_ABS, 0, 0, _IPV4_TOS), (_RSH, 0, 0, 2), (_JA, 0, 0, len(ipv6))]
    compare = [step for dscp, cls in table for step in ((_JEQ, 0, 1, dscp), (_RET, 0, 0, cls))]
    dispatch = [
        (_LDH_ABS, 0, 0, _ETHERTYPE),
        (_JEQ, 2, 0, 0x0800),
        (_JEQ, 1 + len(ipv4), 0, 0x86DD),
        default,
    ]
    program = [*dispatch, *ipv4, *ipv6, *compare, default]
    return ",".join([str(len(program)), *(" ".join(map(str, step)) for step in program)])
