"""``python -m controller.lab.process RUN_DIR --control FD --lock FD``: the process that is a lab.

It builds what ``RUN_DIR/wiring.json`` says in a network namespace of its own, writes ``lab.json``,
and holds it until the control socket closes, or TERM, HUP or INT come. One JSON object a line on
the socket: ``{"progress": text}``, then ``{"ready": true}`` or ``{"error": text}``.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import signal
import socket
import sys
from pathlib import Path
from types import FrameType

from controller.lab import network, rundir
from controller.lab.description import Description, read_wiring, write_description
from controller.lab.errors import LabError
from controller.lab.kernel import enter_new_network_namespace
from controller.lab.ovs import OpenVSwitch, environment
from controller.lab.queue_agent import QueueAgent
from controller.lab.requirements import search_path


def main() -> int:
    parser = argparse.ArgumentParser(prog="controller.lab.process")
    parser.add_argument("run_dir", type=Path)
    parser.add_argument("--control", type=int, required=True)
    parser.add_argument("--lock", type=int, required=True)
    parser.add_argument("--controller", default=None)
    options = parser.parse_args()
    os.set_inheritable(options.lock, False)
    os.environ.update(environment(options.run_dir), PATH=search_path())
    os.environ[rundir.MARKER] = str(options.run_dir)
    logging.basicConfig(filename=options.run_dir / "lab.log", level=logging.INFO)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    with socket.socket(fileno=options.control) as control:
        os.set_inheritable(control.fileno(), False)
        return _Lab(options.run_dir, options.controller, control).run()


def _leave(_signal: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)


class _Lab:
    def __init__(self, run_dir: Path, controller: str | None, control: socket.socket) -> None:
        self._run_dir = run_dir
        self._controller = controller
        self._control = control
        self._ovs = OpenVSwitch(run_dir)
        self._net: network.FabricNet | None = None

    def run(self) -> int:
        try:
            self._build()
            self._say(ready=True)
            self._hold()
        except LabError as error:
            self._say(error=str(error))
            return 1
        except (KeyboardInterrupt, SystemExit):
            pass
        except Exception as error:
            self._say(error=f"The lab failed, a defect of Heald: {error!r}")
            raise
        finally:
            self._stop()
        return 0

    def _build(self) -> None:
        wiring = read_wiring(self._run_dir)
        enter_new_network_namespace()
        self._say(progress=f"{len(wiring.hosts)} hosts, {len(wiring.ports)} switch ports")
        net = self._net = network.build(wiring, self._run_dir)
        self._say(progress=f"Open vSwitch with {len(wiring.bridges)} bridges")
        self._ovs.start()
        self._ovs.configure(wiring, self._controller)
        network.shorten_queues(wiring)
        if len(wiring.queues) > 1:
            QueueAgent(wiring, self._run_dir).start()
        self._say(progress="duplicate address detection")
        network.wait_for_addresses(net)
        host_pids = {host.name: host.pid for host in net.hosts}
        write_description(Description(str(self._run_dir), os.getpid(), host_pids, wiring))

    def _hold(self) -> None:
        while self._control.recv(64):
            pass

    def _say(self, **message: object) -> None:
        try:
            self._control.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            pass  # The other side has gone; the end of file on the socket ends the lab.

    def _stop(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        if self._net is not None:
            network.terminate(self._net)
        self._ovs.stop()
        rundir.remove(self._run_dir)


if __name__ == "__main__":
    sys.exit(main())
