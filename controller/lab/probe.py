"""Traffic from inside hosts: ``python -m controller.lab.probe COMMAND``, see ``--help``.

Each command prints one line of JSON on standard output when it ends. Receivers write ``listening``
to standard error once they are, and end on TERM or as their options say.
`controller.lab.traffic` runs them in a lab.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from controller.lab import (
    probe_capture,
    probe_exchange,
    probe_inject,
    probe_receive,
    probe_send,
    probe_tcp,
    probe_watch,
)


def main() -> None:
    options = vars(_parser().parse_args())
    run: Callable[..., Any] = options.pop("run")
    json.dump(asdict(run(**options)), sys.stdout)
    print()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="controller.lab.probe")
    commands = parser.add_subparsers(required=True)

    send = commands.add_parser("send", help="UDP at a constant rate")
    send.set_defaults(run=probe_send.send)
    send.add_argument("--to", required=True)
    send.add_argument("--port", type=int, required=True)
    rate = send.add_mutually_exclusive_group(required=True)
    rate.add_argument("--rate-pps", type=float)
    rate.add_argument("--rate-bps", type=float, help="of Ethernet frames without preamble and FCS")
    send.add_argument("--duration", dest="duration_s", type=float, help="seconds; default: no end")
    send.add_argument("--count", type=int, help="end after so many packets")
    send.add_argument("--size", type=int, default=64, help="bytes of payload")
    send.add_argument("--bind", help="source address")
    send.add_argument("--source-ports", type=int, default=1, help="take turns among so many")
    send.add_argument("--first-source-port", type=int, default=20000)
    send.add_argument("--dscp", type=int, default=0)

    receive = commands.add_parser("receive", help="count what send sends")
    receive.set_defaults(run=probe_receive.receive)
    receive.add_argument("--port", type=int, required=True)
    receive.add_argument("--idle", dest="idle_s", type=float, help="end after a silence of seconds")
    receive.add_argument("--duration", dest="duration_s", type=float)

    watch = commands.add_parser(
        "watch", help="which interfaces send the packets of each source port"
    )
    watch.set_defaults(run=probe_watch.watch)
    watch.add_argument("--port", type=int, required=True, help="UDP destination port")
    watch.add_argument("--duration", dest="duration_s", type=float)
    watch.add_argument("interfaces", nargs="+")

    inject = commands.add_parser("inject", help="load on a switch's interface")
    inject.set_defaults(run=probe_inject.inject)
    inject.add_argument("--rate-bps", type=float, required=True)
    inject.add_argument("--duration", dest="duration_s", type=float)
    inject.add_argument("interface")

    tcp_send = commands.add_parser("tcp-send", help="TCP as fast as it goes")
    tcp_send.set_defaults(run=probe_tcp.send)
    tcp_send.add_argument("--to", required=True)
    tcp_send.add_argument("--port", type=int, required=True)
    tcp_send.add_argument("--duration", dest="duration_s", type=float, required=True)
    tcp_send.add_argument("--bind", help="source address")

    tcp_receive = commands.add_parser(
        "tcp-receive", help="accept one connection and count its bytes"
    )
    tcp_receive.set_defaults(run=probe_tcp.receive)
    tcp_receive.add_argument("--port", type=int, required=True)

    exchange = commands.add_parser("exchange", help="one rank of a collective")
    exchange.set_defaults(run=probe_exchange.exchange)
    exchange.add_argument("file", help="what to send and to receive")

    capture = commands.add_parser("capture", help="packets of one TCP port into a pcap file")
    capture.set_defaults(run=probe_capture.capture)
    capture.add_argument("--port", type=int, required=True)
    capture.add_argument("--interface", default="lo")
    capture.add_argument("file")
    return parser


if __name__ == "__main__":
    main()
