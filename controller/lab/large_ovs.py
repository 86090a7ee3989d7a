"""A large fabric on one Open vSwitch whose data path is a dummy: bridges without packets, for which
it needs no root."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

from controller.lab.emulated import EmulatedLab
from controller.lab.errors import LabError
from controller.lab.kernel import die_with_parent
from controller.lab.requirements import search_path

_SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")
_START_S = 15.0
_TRANSACTION_S = 300


class OvsLab(EmulatedLab):
    """As an emulated lab, but its switches are bridges of Open vSwitch."""

    def _start_switches(self) -> None:
        missing = [
            p
            for p in ("ovs-vswitchd", "ovsdb-server", "ovsdb-tool", "ovs-vsctl")
            if shutil.which(p, path=search_path()) is None
        ]
        if missing:
            raise LabError(f"Bridges need {', '.join(missing)}; install openvswitch-switch")
        self._environment = {
            **{name: str(self.run_dir) for name in ("OVS_RUNDIR", "OVS_DBDIR", "OVS_LOGDIR")},
            "PATH": search_path(),
        }
        self._run("ovsdb-tool", "create", f"{self.run_dir}/conf.db", str(_SCHEMA))
        remote = f"--remote=punix:{self.run_dir}/db.sock"
        self._database = self._daemon("ovsdb-server", f"{self.run_dir}/conf.db", remote)
        deadline = time.monotonic() + _START_S
        while not (self.run_dir / "db.sock").exists():
            if time.monotonic() > deadline:
                raise LabError(f"ovsdb-server does not start within {_START_S:.0f} s")
            time.sleep(0.01)
        self._run("ovs-vsctl", "--no-wait", "init")
        self.emulator = self._daemon(
            "ovs-vswitchd", f"unix:{self.run_dir}/db.sock", "--enable-dummy"
        )
        # Arguments of one command have a limit, so they go through the shell's standard input.
        script = self.run_dir / "bridges.sh"
        script.write_text(
            f"exec ovs-vsctl --timeout={_TRANSACTION_S} " + " ".join(self._bridges()[1:])
        )
        self._run("bash", str(script))

    def _bridges(self) -> list[str]:
        """One transaction with every bridge, port and controller."""
        args = []
        names = {each.name: f"b{i}" for i, each in enumerate(self.fabric.switches)}
        for each in self.fabric.switches:
            bridge = names[each.name]
            args += ["--", "add-br", bridge, "--", "set", "bridge", bridge, "datapath_type=dummy"]
            args += ["fail_mode=secure", "protocols=OpenFlow15"]
            args += [f"other-config:datapath-id={each.dpid:016x}"]
            args += ["other-config:disable-in-band=true"]
            args += ["--", "set-controller", bridge, f"tcp:127.0.0.1:{self.port}"]
            args += ["--", "set", "controller", bridge, "max_backoff=1000"]
        ports = [(arc.tail, arc.head) for arc in self.fabric.arcs]
        for tail, head in ports:
            name = f"{names[tail.switch]}-{tail.port}"
            peer = f"{names[head.switch]}-{head.port}"
            args += ["--", "add-port", names[tail.switch], name, "--", "set", "interface", name]
            args += ["type=patch", f"options:peer={peer}", f"ofport_request={tail.port}"]
        for nic in self.fabric.nics:
            for port in nic.attachments:
                name = f"{names[port.switch]}-{port.port}"
                args += ["--", "add-port", names[port.switch], name, "--", "set", "interface", name]
                args += ["type=dummy", f"ofport_request={port.port}"]
        return args

    def _stop_switches(self) -> None:
        for process in (self.emulator, self._database):
            process.kill()
            process.wait()

    @property
    def processes(self) -> dict[str, int]:
        return {"ovs-vswitchd": self.emulator.pid, "ovsdb-server": self._database.pid}

    def _daemon(self, program: str, *args: str) -> subprocess.Popen[bytes]:
        log = [f"--log-file={self.run_dir}/{program}.log", "-vconsole:off", "-vsyslog:off"]
        control = f"--unixctl={self.run_dir}/{program}.ctl"
        return subprocess.Popen(
            [program, *args, *log, control],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=os.environ | self._environment,
            start_new_session=True,
            preexec_fn=die_with_parent,
        )

    def _run(self, *argv: str) -> None:
        done = subprocess.run(
            argv, capture_output=True, text=True, check=False, env=os.environ | self._environment
        )
        if done.returncode != 0:
            raise LabError(f"{argv[0]} failed: {done.stderr.strip()[-500:]}")
