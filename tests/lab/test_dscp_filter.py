"""The DSCP classifier, run packet by packet as the kernel would run it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from controller.lab.dscp_filter import class_id, dscp_filter
from controller.lab.wiring import Queue

queues = st.dictionaries(st.integers(0, 63), st.integers(1, 7), max_size=8).map(
    lambda by_dscp: (
        Queue(0, ()),
        *(
            Queue(q, tuple(d for d, of in by_dscp.items() if of == q))
            for q in sorted(set(by_dscp.values()))
        ),
    )
)


@given(queues, st.integers(0, 63), st.integers(0, 3), st.sampled_from([4, 6]))
def test_a_packet_goes_to_the_queue_of_its_dscp(
    table: tuple[Queue, ...], dscp: int, ecn: int, version: int
) -> None:
    wanted = next((q.queue for q in table if dscp in q.dscps), 0)
    assert _run(dscp_filter(table), _frame(version, dscp << 2 | ecn)) == class_id(wanted)


@given(queues)
def test_what_is_not_ip_goes_to_queue_zero(table: tuple[Queue, ...]) -> None:
    assert _run(dscp_filter(table), bytes(12) + b"\x08\x06" + bytes(28)) == class_id(0)


def _frame(version: int, traffic_class: int) -> bytes:
    if version == 4:
        return bytes(12) + b"\x08\x00\x45" + bytes([traffic_class]) + bytes(18)
    first = (6 << 28 | traffic_class << 20).to_bytes(4, "big")
    return bytes(12) + b"\x86\xdd" + first + bytes(36)


def _run(bytecode: str, frame: bytes) -> int:
    """Classic BPF, the instructions that a filter may use here."""
    count, *steps = bytecode.split(",")
    program = [tuple(map(int, step.split())) for step in steps]
    assert len(program) == int(count)
    accumulator, at = 0, 0
    while True:
        code, true, false, k = program[at]
        at += 1
        if code == 0x28:
            accumulator = int.from_bytes(frame[k : k + 2], "big")
        elif code == 0x30:
            accumulator = frame[k]
        elif code == 0x74:
            accumulator >>= k
        elif code == 0x54:
            accumulator &= k
        elif code == 0x15:
            at += true if accumulator == k else false
        elif code == 0x05:
            at += k
        elif code == 0x06:
            return k
        else:
            raise AssertionError(f"unknown instruction {code:#x}")
