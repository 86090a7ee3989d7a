"""Intents in tables and lines, for people."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from controller.cli import render
from controller.intents import words
from heald.v1 import intents_pb2 as pb


def kind(spec: pb.IntentSpec) -> str:
    return str(spec.WhichOneof("kind") or "").replace("_", "-")


def endpoints(spec: pb.IntentSpec) -> str:
    if spec.WhichOneof("kind") != "point_to_point":
        return render.endpoints(spec.connectivity.endpoints)
    asked = spec.point_to_point
    arrow = "↔" if asked.bidirectional else "→"
    return f"{render.endpoints(asked.source)} {arrow} {render.endpoints(asked.destination)}"


def requirements(asked: pb.PointToPoint) -> str:
    """What a point-to-point intent asks for but its endpoints, in the words of its file."""
    parts = [
        words.rate(asked.rate_bps) if asked.rate_bps else "",
        f"class {asked.traffic_class}" if asked.traffic_class else "",
        f"within {words.time(asked.max_latency_s)}" if asked.max_latency_s else "",
        f"include {', '.join(asked.include)}" if asked.include else "",
        f"avoid {', '.join(asked.avoid)}" if asked.avoid else "",
        f"protection {protection(asked.protection)}" if asked.protection else "",
        f"UDP source ports {_ports(asked.udp_source_ports)}" if asked.udp_source_ports else "",
        f"priority {asked.priority}" if asked.priority else "",
        "less will do" if asked.on_shortage == pb.PointToPoint.DEGRADE else "",
    ]
    return ", ".join(filter(None, parts)) or "a path"


def protection(value: pb.PointToPoint.Protection) -> str:
    return pb.PointToPoint.Protection.Name(value).lower()


def path(hops: Sequence[pb.Hop]) -> str:
    """``leaf1 → spine1 → leaf4``, with a mark at a link that is down."""
    if not hops:
        return ""
    steps = [f"{'→' if hop.up else '⇥ (down)'} {hop.next_switch}" for hop in hops]
    return " ".join([hops[0].switch, *steps])


def table(intents: Sequence[pb.Intent]) -> Table:
    made = render.table("NAME", "STATE", ">GEN", "KIND", "ENDPOINTS", "LABELS", "REASON")
    for message in intents:
        status = message.status
        made.add_row(
            words.short_name(message.name),
            render.state(render.state_of(message)),
            str(message.generation),
            kind(message.spec),
            endpoints(message.spec),
            " ".join(f"{k}={v}" for k, v in sorted(message.labels.items())),
            status.message or status.reason,
        )
    return made


def heading(message: pb.Intent) -> Text:
    name = words.short_name(message.name)
    return Text.assemble(f"{name}  ", render.state(render.state_of(message)))


def line(message: pb.Intent) -> Text:
    status = message.status
    return Text.assemble(heading(message), f"  {status.message or status.reason}")


def count(number: int) -> str:
    return "1 intent" if number == 1 else f"{number} intents"


def _ports(ports: Sequence[int]) -> str:
    shown = ", ".join(map(str, ports[:4]))
    return shown + (f", … {len(ports) - 4} more" if len(ports) > 4 else "")
