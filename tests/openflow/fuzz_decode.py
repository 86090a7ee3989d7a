"""Coverage-guided fuzzing of the decoder, with atheris (Linux, Pythons that it has wheels for).

    python tests/openflow/fuzz_decode.py -max_total_time=20 [DIRECTORY]

Whatever the bytes: nothing but DecodeError is raised, no more time and memory is used than a
constant times their length, and what is accepted has one canonical form. A finding is written to a
file ``crash-…``; run again with that as the only argument.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path
from typing import Any

import atheris  # type: ignore[import-not-found, unused-ignore]

with atheris.instrument_imports(include=["controller.openflow"]):
    from controller.openflow import decode as controller_side
    from controller.openflow.codec import decode, encode
    from controller.openflow.wire import DecodeError

READERS = (
    controller_side.flow_descs,
    controller_side.group_descs,
    controller_side.meter_descs,
    controller_side.port_descs,
    controller_side.port_stats,
    controller_side.queue_stats,
    controller_side.group_stats,
    controller_side.packet_in,
    controller_side.port_status,
)
SLOWEST_S, SLOWEST_S_PER_BYTE = 0.5, 2e-4
# What a decoder remembers, and pages of the interpreter, on top of what a message is worth.
MOST_BYTES, MOST_BYTES_PER_BYTE = 256 * 1024, 64


RUNS = itertools.count()


def one_input(data: bytes) -> None:
    if len(data) >= 4:  # A wrong length of the whole teaches nothing.
        data = data[:2] + (len(data) & 0xFFFF).to_bytes(2, "big") + data[4:]
    # To measure memory takes ten times as long as to decode: now and then, and first of all,
    # so that a finding is found again when it is run alone.
    measured = next(RUNS) % 32 == 0
    if measured:
        tracemalloc.start()
    before = time.process_time()
    for read in READERS:
        with contextlib.suppress(DecodeError):
            read(data)
    decoded = None
    with contextlib.suppress(DecodeError):
        decoded = decode(data)
    took_s = time.process_time() - before
    if measured:
        _, allocated = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        if allocated > MOST_BYTES + MOST_BYTES_PER_BYTE * len(data):
            raise AssertionError(f"{len(data)} bytes took {allocated} bytes of memory")
    if took_s > SLOWEST_S + SLOWEST_S_PER_BYTE * len(data):
        raise AssertionError(f"{len(data)} bytes took {took_s:.1f} s")
    if decoded is not None:
        canonical = encode(decoded.message, decoded.version, decoded.xid)
        again = decode(canonical)
        if again != decoded or encode(again.message, again.version, again.xid) != canonical:
            raise AssertionError(f"{decoded} comes back as {again}")


def seeds(directory: Path) -> None:
    """A few of every message, so that fuzzing begins inside of each."""
    from hypothesis import HealthCheck, Phase, given, settings

    from tests.openflow import message_values

    def examples(strategy: Any, version: int) -> set[bytes]:
        found: set[bytes] = set()

        @settings(
            max_examples=4,
            database=None,
            derandomize=True,
            phases=[Phase.generate],
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(strategy)
        def collect(message: object) -> None:
            found.add(encode(message, version))

        collect()
        return found

    for version in (4, 5, 6):
        for kind, strategy in message_values.messages(version).items():
            for number, raw in enumerate(sorted(examples(strategy, version))):
                (directory / f"{version}-{kind.__name__}-{number}").write_bytes(raw)


def main() -> None:
    arguments = sys.argv
    with tempfile.TemporaryDirectory() as directory:
        if all(a.startswith("-") for a in arguments[1:]):
            seeds(Path(directory))
            arguments = [*arguments, directory]
        atheris.Setup(arguments, one_input)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
