"""Traffic between the hosts of a lab, measured at the receiver."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from controller.lab.errors import LabError
from controller.lab.handle import Lab
from controller.lab.probe_receive import ReceiveReport
from controller.lab.probe_send import SendReport
from controller.lab.probe_tcp import TcpReport

_PROBE = (sys.executable, "-m", "controller.lab.probe")
_END_S = 20.0


class Program:
    """A running probe; `report` ends it and reads its numbers."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def report(self, *, stop: bool = True, timeout_s: float = _END_S) -> dict[str, Any]:
        """The numbers of a probe, once; afterwards the probe has ended."""
        if stop:
            self._process.terminate()
        try:
            out, err = self._process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
            raise LabError(f"A probe did not end within {timeout_s:g} s") from None
        if self._process.returncode != 0:
            raise LabError(f"A probe failed: {err.strip()}")
        report: dict[str, Any] = json.loads(out)
        return report

    def end(self) -> None:
        """Without numbers; also after `report`."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate()


class UdpFlow:
    """UDP at a constant rate from one host to another, running from `start` to `stop`.

    with UdpFlow(lab, "h1", "h5", rate_pps=1000) as flow:
        lab.link_down("leaf1", "spine1")
        ...
    print(flow.sent, flow.received.received, flow.received.max_gap_ms)
    """

    received: ReceiveReport
    sent: SendReport

    def __init__(
        self,
        lab: Lab,
        source: str,
        destination: str,
        *,
        rate_pps: float | None = None,
        rate_bps: float | None = None,
        version: int = 4,
        port: int = 4791,
        size: int = 64,
        count: int | None = None,
        duration_s: float | None = None,
        source_ports: int = 1,
        first_source_port: int = 20000,
        dscp: int = 0,
    ) -> None:
        """``source`` and ``destination`` are hosts (the first NIC of each) or NICs (``h1/rail1``).
        ``rate_bps`` counts Ethernet frames without FCS, as a link's capacity does."""
        if (rate_pps is None) == (rate_bps is None):
            raise ValueError("Give rate_pps or rate_bps")
        self._finite = count is not None or duration_s is not None
        rate = f"--rate-pps={rate_pps}" if rate_pps is not None else f"--rate-bps={rate_bps}"
        self._to, own = address_of(lab, destination, version), address_of(lab, source, version)
        argv = ["send", f"--to={self._to}", f"--port={port}", rate]
        argv += [f"--bind={own}", f"--size={size}", f"--dscp={dscp}"]
        argv += [f"--source-ports={source_ports}", f"--first-source-port={first_source_port}"]
        argv += [f"--count={count}"] if count is not None else []
        argv += [f"--duration={duration_s}"] if duration_s is not None else []
        self._lab, self._port = lab, port
        self._source, self._destination = host_of(source), host_of(destination)
        self._send_argv = argv
        self._receiver: Program | None = None
        self._sender: Program | None = None

    def __enter__(self) -> UdpFlow:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.stop()
        self._end()

    @property
    def lost(self) -> int:
        """Packets sent and never received; after `stop`."""
        return self.sent.sent - self.received.received

    def start(self) -> None:
        receive = ["receive", f"--port={self._port}"]
        self._receiver = listening(self._lab, self._destination, receive)
        self._sender = started(self._lab, self._source, self._send_argv)

    def stop(self, timeout_s: float = 300.0) -> None:
        """End the sender (a finite one is waited for), then the receiver; fills the reports."""
        assert self._sender is not None
        assert self._receiver is not None
        self.sent = SendReport(**self._sender.report(stop=not self._finite, timeout_s=timeout_s))
        # The receiver takes what is still on its way: it empties its socket after each tick.
        self._settle()
        raw = self._receiver.report()
        for name in ("source_ports", "dscps"):  # JSON has no integer keys.
            raw[name] = {int(key): count for key, count in raw[name].items()}
        self.received = ReceiveReport(**raw)

    def _settle(self) -> None:
        """Wait until queues have drained: a packet sent after the flow has come back."""
        self._lab.exec(self._source, ["ping", "-c1", "-W1", self._to], check=False)

    def _end(self) -> None:
        for program in (self._sender, self._receiver):
            if program is not None:
                program.end()


class ForeignLoad:
    """Load on one direction of a link that Heald knows nothing of, from `start` to `stop`.

    ``switch:port`` is the end that sends; ``rate_bps`` counts frames, as the link's capacity does.
    """

    sent: SendReport

    def __init__(self, lab: Lab, switch: str, port: int, rate_bps: float) -> None:
        self._lab = lab
        self._argv = ["inject", f"--rate-bps={rate_bps}", lab.interface(switch, port)]
        self._program: Program | None = None

    def __enter__(self) -> ForeignLoad:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.stop()
        elif self._program is not None:
            self._program.end()

    def start(self) -> None:
        self._program = started(self._lab, None, self._argv)

    def stop(self) -> None:
        assert self._program is not None
        self.sent = SendReport(**self._program.report())


class PathWatch:
    """Records which switch ports send the packets of each flow, between `start` and `stop`."""

    packets: dict[int, dict[tuple[str, int], int]]
    """UDP source port to (switch, port) to packets."""

    def __init__(self, lab: Lab, ports: Sequence[tuple[str, int]], udp_port: int = 4791) -> None:
        self._lab = lab
        self._port_of = {lab.interface(switch, port): (switch, port) for switch, port in ports}
        self._argv = ["watch", f"--port={udp_port}", *self._port_of]
        self._program: Program | None = None

    def __enter__(self) -> PathWatch:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.stop()
        elif self._program is not None:
            self._program.end()

    def start(self) -> None:
        self._program = listening(self._lab, None, self._argv)

    def stop(self) -> None:
        assert self._program is not None
        raw = self._program.report()["packets"]
        self.packets = {
            int(source_port): {self._port_of[name]: count for name, count in seen.items()}
            for source_port, seen in raw.items()
        }


def tcp_throughput(
    lab: Lab, source: str, destination: str, *, duration_s: float, version: int = 4
) -> TcpReport:
    """One TCP connection as fast as it goes, as the receiver saw it."""
    receiver = listening(lab, host_of(destination), ["tcp-receive", "--port=5001"])
    try:
        to, own = address_of(lab, destination, version), address_of(lab, source, version)
        argv = ["tcp-send", f"--to={to}", f"--bind={own}", "--port=5001"]
        sender = started(lab, host_of(source), [*argv, f"--duration={duration_s}"])
        sender.report(stop=False, timeout_s=duration_s + _END_S)
        return TcpReport(**receiver.report(stop=False))
    finally:
        receiver.end()


def host_of(end: str) -> str:
    """Of a host or a NIC."""
    return end.partition("/")[0]


def address_of(lab: Lab, end: str, version: int = 4) -> str:
    """Of a NIC, or of the first of a host."""
    host, _, nic = end.partition("/")
    return lab.address(host, version, nic or None)


def started(lab: Lab, host: str | None, argv: Sequence[str]) -> Program:
    """A probe command running in a host, or among the switches for None."""
    options: dict[str, Any] = {
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "text": True,
    }
    command = [*_PROBE, *argv]
    if host is None:
        return Program(lab.popen_in_namespace(command, **options))
    return Program(lab.popen(host, command, **options))


def listening(lab: Lab, host: str | None, argv: Sequence[str]) -> Program:
    """The same for a command that receives; returns once it does."""
    program = started(lab, host, argv)
    process = program._process
    assert process.stderr is not None
    if process.stderr.readline().strip() != "listening":
        program.report(stop=False)
        raise LabError(f"The probe {' '.join(argv)} does not listen")
    return program
