"""``heald emulate`` as a process, with a controller that the test plays."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import ssl
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from controller.cli.emulate import emulate
from controller.fabric.load import load
from controller.openflow import bodies, messages
from controller.openflow.model import ALL_TABLES, ApplyActions, Match, Output
from tests.emulator.tcp import DEADLINE_S, Controller

ROOT = Path(__file__).parents[2]
TOPOLOGY = ROOT / "topologies" / "leaf-spine.yaml"
FABRIC = load(TOPOLOGY.read_bytes(), TOPOLOGY.name)
TLS = ROOT / "tests" / "emulator" / "tls"
"""A key and a certificate for controllers and one for switches, each of an authority of its own,
made with ``openssl req`` and ``openssl x509``; good until 2126."""
OWN = (f"--private-key={TLS}/switch.key", f"--certificate={TLS}/switch.pem")


def context_of_controller() -> ssl.SSLContext:
    """One that lets in only switches which the switches' authority knows."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS / "controller.pem", TLS / "controller.key")
    context.load_verify_locations(TLS / "switches-ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    return context


@contextlib.asynccontextmanager
async def emulating(*options: str) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "heald", "emulate", str(TOPOLOGY), "--openflow=1.5", *options),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=ROOT,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def until_said(process: asyncio.subprocess.Process, text: str) -> str:
    """The first line on standard error that has this in it."""
    assert process.stderr is not None
    while line := await asyncio.wait_for(process.stderr.readline(), DEADLINE_S):
        if text in line.decode():
            return line.decode()
    raise AssertionError(f"it ended without saying {text!r}")


async def command(process: asyncio.subprocess.Process, line: str) -> dict[str, Any]:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(line.encode() + b"\n")
    answer = json.loads(await asyncio.wait_for(process.stdout.readline(), DEADLINE_S))
    assert isinstance(answer, dict)
    return answer


async def ended(process: asyncio.subprocess.Process) -> tuple[int, str]:
    """Its exit code, and the last line of its standard output."""
    process.send_signal(signal.SIGTERM)
    assert process.stdout is not None
    said = (await asyncio.wait_for(process.stdout.read(), DEADLINE_S)).decode().splitlines()
    return await process.wait(), said[-1] if said else ""


async def test_every_switch_connects_by_tls_and_holds_what_it_is_told() -> None:
    async with Controller(context_of_controller()) as controller:
        where = f"--controller=ssl:127.0.0.1:{controller.port}"
        ca = f"--ca-cert={TLS}/controllers-ca.pem"
        async with emulating(where, *OWN, ca, "--json") as process:
            peers = await controller.all_of(FABRIC)
            assert set(peers) == {switch.name for switch in FABRIC.switches}
            for peer in peers.values():
                tls = peer.writer.get_extra_info("ssl_object")
                assert dict(each[0] for each in tls.getpeercert()["subject"]) == {
                    "commonName": "switch"
                }
                for number in range(500):
                    peer.say(messages.FlowMod(0, 0, number, Match(), (ApplyActions((Output(1),)),)))
                await peer.ask(messages.BarrierRequest(), messages.BarrierReply)
                reply = await peer.ask(bodies.AggregateRequest(ALL_TABLES), bodies.AggregateReply)
                assert reply.counters.flows == 500
            code, line = await ended(process)
    assert code == 0
    counts = json.loads(line)
    assert (counts["connected"], counts["flows"]) == (6, 3000)


async def test_a_fault_acts_on_a_tls_session(tmp_path: Path) -> None:
    script = tmp_path / "faults.yaml"
    script.write_text("- {fault: disconnect, switch: leaf1, at_s: 0, after_bytes: 1000}\n")
    async with Controller(context_of_controller()) as controller:
        where = f"--controller=ssl:127.0.0.1:{controller.port}"
        async with emulating(where, *OWN, f"--faults={script}", "--seed=7") as process:
            peers = await controller.all_of(FABRIC)
            leaf = peers["leaf1"]
            leaf.say(messages.EchoRequest(bytes(2000)))
            heard = 16 + 32 + len(await leaf.rest())
            assert heard == 1000
            assert (await controller.greeted(FABRIC)).switch == "leaf1"
            assert process.returncode is None


async def test_a_controller_that_the_switches_do_not_trust_hears_nothing() -> None:
    async with Controller(context_of_controller()) as controller:
        where = f"--controller=ssl:127.0.0.1:{controller.port}"
        async with emulating(where, *OWN, f"--ca-cert={TLS}/switches-ca.pem") as process:
            line = await until_said(process, "certificate verify failed")
            assert line.startswith("0 of 6 switches are connected to ssl:127.0.0.1:")
            assert controller.accepted.empty()


async def test_traffic_and_faults_from_files_and_commands(tmp_path: Path) -> None:
    faults, traffic = tmp_path / "faults.yaml", tmp_path / "traffic.yaml"
    faults.write_text("- {fault: link-down, wire: 'leaf1:11-spine1:1', at_s: 0}\n")
    traffic.write_text("- {from: h1, to: h3, rate: 8M, frame_bytes: 1000, adapts: false}\n")
    async with Controller() as controller:
        options = (f"--faults={faults}", f"--traffic={traffic}", "--commands", "--json")
        async with emulating(f"--controller={controller.address}", *options) as process:
            peers = await controller.all_of(FABRIC)
            ports = await peers["leaf1"].ask(bodies.PortStatsRequest(1), bodies.PortStatsReply)
            assert ports.ports[0].rx_packets > 0
            links = await command(process, "links")
            states = {row[1]: row[3] for row in links["rows"]}
            assert states["leaf1:11"] != "up" and states["leaf1:12"] == "up"
            assert (await command(process, "link leaf1 spine2 down"))["text"]
            status = await peers["leaf1"].next(messages.PortStatus)
            assert status.port.port == 12
            wrong = await command(process, "nonsense")
            assert "there is no command 'nonsense'" in wrong["error"]
            assert process.stdin is not None
            process.stdin.close()
            assert await asyncio.wait_for(process.wait(), DEADLINE_S) == 0


async def test_a_controller_that_is_not_there_is_waited_for() -> None:
    async with Controller() as controller:
        where = str(controller.address)
    async with emulating(f"--controller={where}") as process:
        line = await until_said(process, "Connect call failed")
        assert line.startswith(f"0 of 6 switches are connected to {where}")
        assert (await ended(process))[0] == 0


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--controller=ssl:127.0.0.1:6653"], "needs the switches' private key"),
        (["--controller=leaf1"], "'leaf1' is no controller"),
        (["--faults=FILE"], "FILE: fault 1: link-down needs `wire`"),
        (["--traffic=FILE"], "FILE: demand 1: a demand needs `from`"),
        (["--faults=/none"], "/none"),
        (["--persona=ofp13-strict", "--openflow=1.5"], "does not speak OpenFlow 1.5"),
    ],
)
def test_mistakes_are_said_before_anything_starts(
    tmp_path: Path, options: list[str], says: str
) -> None:
    file = tmp_path / "f.yaml"
    file.write_text("- {fault: link-down, at_s: 1}\n")
    given = [option.replace("FILE", str(file)) for option in options]
    done = CliRunner().invoke(emulate, [str(TOPOLOGY), *given])
    assert done.exit_code == 2
    assert says.replace("FILE", str(file)) in done.output


def test_a_fault_at_a_place_that_is_not_there_has_its_file(tmp_path: Path) -> None:
    file = tmp_path / "f.yaml"
    file.write_text("- {fault: link-down, wire: leaf1-spine9, at_s: 1}\n")
    done = CliRunner().invoke(emulate, [str(TOPOLOGY), f"--faults={file}"])
    assert done.exit_code == 2
    assert f"{file}: link-down: there is no wire 'leaf1-spine9'" in done.output
