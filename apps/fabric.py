"""The Ryu app of Heald: ``ryu-manager apps.fabric --fabric-topology FILE``.

This process is a thin shell around the switches' connections. What the switches shall hold is
decided by the brain, a process of its own that this one starts, or finds with ``--fabric-brain
unix:PATH``.
"""

from __future__ import annotations

import atexit
import gc
import logging
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from eventlet import event
from eventlet.green import os as green_os
from eventlet.green import socket
from ryu.base import app_manager
from ryu.controller import controller, ofp_event
from ryu.controller.handler import DEAD_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from ryu.lib import hub
from ryu.ofproto import ofproto_v1_5

from apps import flags, listener, logs, tls
from apps.brain_link import BrainLink
from apps.supervisor import BAD_CONFIGURATION, Supervisor
from apps.switches import Switches

SIGNALS = (signal.SIGTERM, signal.SIGINT)

logs.quieten()


class Fabric(app_manager.RyuApp):
    """Ties the parts together, and ends the process when it is told to or cannot begin."""

    OFP_VERSIONS = (ofproto_v1_5.OFP_VERSION,)
    LOGGER_NAME = "heald"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        logs.configure()
        self._supervisor: Supervisor | None = None
        self._ended = event.Event()
        try:
            options = flags.read(self.CONF)
            flags.apply_defaults(self.CONF)
            _check_listening(self.CONF, is_secured=tls.wanted(self.CONF) is not None)
            brain_socket = options.brain_socket
            if brain_socket is None:
                self._supervisor = Supervisor(options)
                self._supervisor.prepare()
                brain_socket = self._supervisor.socket
        except flags.ConfigurationError as error:
            print(error, file=sys.stderr)
            raise SystemExit(BAD_CONFIGURATION) from None
        self._link = BrainLink(brain_socket)
        self._switches = Switches(self._link, options.metrics)
        listener.raise_descriptor_limit()
        controller.StreamServer = listener.Server
        controller.datapath_connection_factory = listener.Handshakes(self._switches.refusal).serve

    def start(self) -> Any:
        super().start()
        self._spawn(self._await_signal, _catch_signals())
        self._spawn(self._link.run, self._switches)
        self._spawn(self._switches.poll_loop)
        self._spawn(self._switches.check_loop)
        if self._supervisor is not None:
            self._spawn(self._supervise, self._supervisor)
        atexit.register(self._leave)
        # What is loaded stays: to look through all of it for garbage again and again would hold up
        # every switch for a tenth of a second.
        gc.collect()
        gc.freeze()
        return hub.spawn(self._end_process, raise_error=True)

    def stop(self) -> None:
        self._link.stop()
        if self._supervisor is not None:
            self._supervisor.stop()
        super().stop()

    @set_ev_cls(ofp_event.EventOFPStateChange, [MAIN_DISPATCHER, DEAD_DISPATCHER])
    def switch_changed(self, happened: Any) -> None:
        if happened.state == MAIN_DISPATCHER:
            self._switches.connected(happened.datapath)
        else:
            self._switches.disconnected(happened.datapath)

    def _spawn(self, body: Callable[..., None], *args: Any) -> None:
        """A greenlet without which the process would be half dead: its error ends the process."""

        def guarded() -> None:
            try:
                body(*args)
            except Exception:
                self.logger.exception("stopping after an error; switches keep forwarding")
                self._end(1)

        hub.spawn(guarded)

    def _end(self, code: int) -> None:
        if not self._ended.ready():
            self._ended.send(code)

    def _end_process(self) -> None:
        """ryu-manager waits for this greenlet, stops its apps and exits with this code."""
        raise SystemExit(self._ended.wait())

    def _leave(self) -> None:
        """All is stopped by now, and to take Ryu's modules apart would last a second more."""
        if self._ended.ready():
            logging.shutdown()
            os._exit(self._ended.wait())

    def _await_signal(self, wakeup: int) -> None:
        green_os.read(wakeup, 1)
        for number in SIGNALS:
            # Who cannot wait sends a second one.
            signal.signal(number, signal.SIG_DFL)
        self._end(0)

    def _supervise(self, supervisor: Supervisor) -> None:
        code = supervisor.run(was_up=lambda: self._link.was_up)
        if code:
            self._end(code)


def _catch_signals() -> int:
    """A descriptor that becomes readable with a signal.

    An exception out of a handler, as Ryu has it for SIGINT, would end whichever greenlet runs, and
    a handler that only sets a flag would not wake the hub.
    """
    wakeup, signalled = os.pipe()
    os.set_blocking(wakeup, False)
    os.set_blocking(signalled, False)
    signal.set_wakeup_fd(signalled, warn_on_full_buffer=False)
    for number in SIGNALS:
        signal.signal(number, lambda *_: None)
    return wakeup


def _check_listening(conf: Any, is_secured: bool) -> None:
    """Raises ConfigurationError if the OpenFlow port cannot be opened: Ryu itself would log that
    and go on without, or share the port with another process."""
    flags.check_ports(conf)
    kind = "ssl" if is_secured else "tcp"
    host, port = conf.ofp_listen_host, conf[f"ofp_{kind}_listen_port"]
    if port is None:
        return
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise flags.ConfigurationError(
                f"heald: cannot listen for switches on {host}:{port}: {error.strerror}; stop what "
                f"listens there, or give --ofp-listen-host and --ofp-{kind}-listen-port "
                "(heald run: --listen)"
            ) from None
