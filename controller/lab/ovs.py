"""A private Open vSwitch: database and daemon of one lab, in its namespace and run directory."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from controller.lab.errors import LabError
from controller.lab.kernel import die_with_parent, go_first
from controller.lab.shaping import qos_commands
from controller.lab.wiring import Wiring

_SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")
_START_S = 15.0
_NICE = -15


def environment(run_dir: Path) -> dict[str, str]:
    """What points ovs-vsctl, ovs-ofctl and ovs-appctl at the Open vSwitch of this lab."""
    directory = str(run_dir)
    return {"OVS_RUNDIR": directory, "OVS_DBDIR": directory, "OVS_LOGDIR": directory}


def vsctl(run_dir: Path, args: Sequence[str]) -> str:
    return _run(["ovs-vsctl", f"--db=unix:{run_dir}/db.sock", "--timeout=30", *args])


class OpenVSwitch:
    """ovsdb-server and ovs-vswitchd; both die with the process that started them."""

    def __init__(self, run_dir: Path) -> None:
        self._run_dir = run_dir
        self._daemons: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        run_dir = self._run_dir
        _run(["ovsdb-tool", "create", f"{run_dir}/conf.db", str(_SCHEMA)])
        self._spawn("ovsdb-server", f"{run_dir}/conf.db", f"--remote=punix:{run_dir}/db.sock")
        self._wait_for_database()
        vsctl(run_dir, ["--no-wait", "init"])
        self._spawn("ovs-vswitchd", f"unix:{run_dir}/db.sock")

    def configure(self, wiring: Wiring, controller: str | None) -> None:
        """Make all bridges, ports and queues in one transaction, and wait until they work.

        A bridge that gets its first controller forgets all flows, so the controller is set here,
        before there are any.
        """
        args: list[str] = []
        for b in wiring.bridges:
            args += ["--", "add-br", b.bridge, "--", "set", "bridge", b.bridge]
            args += ["datapath_type=netdev", "protocols=OpenFlow15", "fail_mode=secure"]
            args += ["other-config:disable-in-band=true", f"other-config:dp-desc={b.switch}"]
            args += [f"other-config:datapath-id={b.dpid:016x}"]
        bridge_of = {b.switch: b.bridge for b in wiring.bridges}
        for i, port in enumerate(wiring.ports):
            args += ["--", "add-port", bridge_of[port.switch], port.interface]
            args += ["--", "set", "interface", port.interface, f"ofport_request={port.port}"]
            args += qos_commands(port, wiring.queues, str(i))
        if controller is not None:
            args += controller_commands(wiring, controller)
        vsctl(self._run_dir, args[1:])

    def stop(self) -> None:
        for daemon in reversed(self._daemons):
            daemon.kill()
            daemon.wait()
        self._daemons.clear()

    def _spawn(self, program: str, *args: str) -> None:
        log = f"--log-file={self._run_dir}/{program}.log"
        self._daemons.append(
            subprocess.Popen(
                [
                    program,
                    *args,
                    f"--unixctl={self._run_dir}/{program}.ctl",
                    f"--pidfile={self._run_dir}/{program}.pid",
                    log,
                    "-vconsole:off",
                    "-vsyslog:off",
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=os.environ | environment(self._run_dir),
                start_new_session=True,
                preexec_fn=_as_daemon,
            )
        )

    def _wait_for_database(self) -> None:
        deadline = time.monotonic() + _START_S
        while True:
            with socket.socket(socket.AF_UNIX) as probe:
                try:
                    probe.connect(f"{self._run_dir}/db.sock")
                    return
                except OSError:
                    pass
            if self._daemons[-1].poll() is not None or time.monotonic() > deadline:
                log = self._run_dir / "ovsdb-server.log"
                tail = log.read_text()[-500:] if log.exists() else ""
                raise LabError(f"ovsdb-server does not start in {self._run_dir}: {tail}")
            time.sleep(0.005)


def _as_daemon() -> None:
    # A pause of 30 ms overflows the receive buffers of the ports.
    go_first(_NICE)
    die_with_parent()


def controller_commands(wiring: Wiring, target: str) -> list[str]:
    """Arguments of ovs-vsctl that point every bridge at one controller."""
    args: list[str] = []
    for b in wiring.bridges:
        args += ["--", "set-controller", b.bridge, target]
        args += ["--", "set", "controller", b.bridge, "max_backoff=1000", "inactivity_probe=5000"]
    return args


def _run(argv: list[str]) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0 or "error" in done.stderr:
        raise LabError(f"{argv[0]} failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout
