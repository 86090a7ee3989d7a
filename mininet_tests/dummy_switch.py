"""A private Open vSwitch without root: one bridge on its dummy datapath, for comparison."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

from controller.openflow import messages
from controller.openflow.codec import decode, encode
from controller.openflow.wire import MessageType, header, split

BRIDGE = "br0"
_SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
_START_S = 15.0
_BARRIER = 0xFFFFFFFF


class DummySwitch:
    """``ports`` of the bridge are 1 to ``ports``, called p1 and so on; end it with :meth:`stop`."""

    def __init__(self, run_dir: Path, ports: int) -> None:
        self._dir = run_dir
        self._environment = os.environ | dict.fromkeys(
            ("OVS_RUNDIR", "OVS_DBDIR", "OVS_LOGDIR"), str(run_dir)
        )
        self._daemons: list[subprocess.Popen[bytes]] = []
        self._control: socket.socket | None = None
        try:
            self._start(ports)
        except BaseException:
            self.stop()
            raise

    def _start(self, ports: int) -> None:
        database = f"{self._dir}/conf.db"
        subprocess.run(["ovsdb-tool", "create", database, _SCHEMA], check=True)
        self._spawn("ovsdb-server", database, f"--remote=punix:{self._dir}/db.sock")
        self._wait_for(self._dir / "db.sock")
        self.vsctl("--no-wait", "init")
        self._spawn("ovs-vswitchd", f"unix:{self._dir}/db.sock", "--enable-dummy")
        args = ["add-br", BRIDGE, "--", "set", "bridge", BRIDGE, "datapath_type=dummy"]
        args += ["fail_mode=secure", "protocols=OpenFlow13,OpenFlow14,OpenFlow15"]
        args += ["other-config:datapath-id=0000000000000001"]
        for number in range(1, ports + 1):
            args += ["--", "add-port", BRIDGE, f"p{number}"]
            args += ["--", "set", "interface", f"p{number}", "type=dummy"]
            args += [f"ofport_request={number}", f"options:tx_pcap={self._dir}/p{number}.pcap"]
        self.vsctl(*args)
        self._wait_for(self._dir / f"{BRIDGE}.mgmt")

    def stop(self) -> None:
        if self._control is not None:
            self._control.close()
        for daemon in reversed(self._daemons):
            daemon.kill()
            daemon.wait()

    def vsctl(self, *args: str) -> str:
        argv = ["ovs-vsctl", f"--db=unix:{self._dir}/db.sock", "--timeout=15", *args]
        return subprocess.run(argv, check=True, capture_output=True, text=True).stdout

    def appctl(self, method: str, *params: str) -> str:
        """As ``ovs-appctl`` does, without a process for each call."""
        if self._control is None:
            self._control = _connect(self._dir / "ovs-vswitchd.ctl")
        request = {"id": 0, "method": method, "params": list(params)}
        self._control.sendall(json.dumps(request).encode())
        text = b""
        while True:
            text += self._control.recv(1 << 20)
            try:
                reply: dict[str, Any] = json.loads(text)
            except ValueError:
                continue
            if reply["error"] is not None:
                raise RuntimeError(f"{method} {' '.join(params)}: {reply['error']}")
            return str(reply["result"])

    def transmitted(self, port: int) -> Path:
        """The capture of what left by a port."""
        return self._dir / f"p{port}.pcap"

    def session(self, version: int) -> DummySession:
        return DummySession(_connect(self._dir / f"{BRIDGE}.mgmt"), version)

    def _spawn(self, program: str, *args: str) -> None:
        argv = [program, *args, f"--unixctl={self._dir}/{program}.ctl"]
        argv += [f"--pidfile={self._dir}/{program}.pid", f"--log-file={self._dir}/{program}.log"]
        argv += ["-vconsole:off", "-vsyslog:off"]
        null = subprocess.DEVNULL
        self._daemons.append(
            subprocess.Popen(argv, stdin=null, stdout=null, stderr=null, env=self._environment)
        )

    def _wait_for(self, path: Path) -> None:
        deadline = time.monotonic() + _START_S
        while True:
            try:
                _connect(path).close()
                return
            except OSError:
                assert time.monotonic() < deadline, f"nothing listens on {path}"
                time.sleep(0.01)


def _connect(path: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(20)
    try:
        connection.connect(str(path))
    except OSError:
        connection.close()
        raise
    return connection


class DummySession:
    """One OpenFlow connection; bytes in, messages out."""

    def __init__(self, connection: socket.socket, version: int) -> None:
        self._socket = connection
        self._version = version
        self._rest = b""
        self._inbox: list[bytes] = []
        self._socket.sendall(encode(messages.Hello((version,)), version, 1))
        assert header(self._receive()).type == MessageType.HELLO

    def close(self) -> None:
        self._socket.close()

    def _receive(self) -> bytes:
        while not self._inbox:
            data = self._socket.recv(1 << 20)
            assert data, "the switch has closed the connection"
            self._inbox, self._rest = split(self._rest + data)
        return self._inbox.pop(0)

    def ask(self, data: bytes) -> list[bytes]:
        """All that the switch says until it is done with ``data``."""
        self._socket.sendall(data + encode(messages.BarrierRequest(), self._version, _BARRIER))
        said = []
        while True:
            message = self._receive()
            head = header(message)
            if head.type == MessageType.ECHO_REQUEST:
                echo = decode(message).message
                self._socket.sendall(encode(messages.EchoReply(echo.data), self._version, head.xid))
            elif head.type == MessageType.BARRIER_REPLY and head.xid == _BARRIER:
                return said
            else:
                said.append(message)
