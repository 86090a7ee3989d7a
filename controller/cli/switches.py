"""``heald switches``: each switch, its session, and what it says that it is."""

from __future__ import annotations

import json

import click
from rich.table import Table
from rich.text import Text

from controller.cli import render
from controller.intents.selectors import did_you_mean
from heald.client import HealdError
from heald.v1 import fabric_pb2 as pb


@click.command(
    epilog="""\b
Examples:
  heald switches
  heald switches leaf1
  heald switches --json | jq -r '.[] | select(.state != "in-sync") | .name'
  heald switches leaf1 --json | jq .description
"""
)
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="A list of objects; with NAME, one object.")
@click.pass_obj
def switches(server: str | None, name: str | None, as_json: bool) -> None:
    """All switches of the topology, or the details of NAME.

    Below them is who was turned away (in the JSON of ``heald status``): another switch with the
    same datapath id, one that the topology lacks, one whose messages are malformed.

    AGE is that of the session, or how long there has been none. CONNECTS counts the sessions since
    the start of the brain. LAST ERROR is kept when all is well again.
    """
    with render.controller(server) as client:
        found = client.status()
    if name is None:
        if as_json:
            click.echo(
                json.dumps([json.loads(render.to_json(s)) for s in found.switches], indent=2)
            )
        else:
            render.console().print(_table(found))
            if found.refused:
                render.console().print("\nturned away in the last minutes:")
                render.console().print(_refused(found))
        return
    switch = next((s for s in found.switches if s.name == name), None)
    if switch is None:
        hint = did_you_mean(name, [s.name for s in found.switches])
        text = f"fabric {found.fabric!r} has no switch {name!r}{hint}"
        render.fail(HealdError("NOT_FOUND", text))
    if as_json:
        click.echo(render.to_json(switch))
    else:
        render.console().print(_details(switch, found))


def _table(found: pb.Status) -> Table:
    made = render.table(
        "SWITCH",
        ">DPID",
        "STATE",
        "OPENFLOW",
        "DESCRIPTION",
        "PEER",
        ">AGE",
        ">CONNECTS",
        ">FLOWS",
        ">GROUPS",
        "LAST ERROR",
    )
    for switch in found.switches:
        made.add_row(
            switch.name,
            f"{switch.dpid:x}",
            render.switch_state(switch.state),
            switch.openflow,
            _in_short(switch.description),
            switch.peer,
            render.age(switch.since, found.time) if switch.HasField("since") else "",
            str(switch.connects),
            str(switch.flows),
            str(switch.groups),
            _last_error(switch, found),
        )
    return made


def _refused(found: pb.Status) -> Table:
    made = render.table("PEER", ">DPID", ">AGO", "WHY")
    for each in found.refused:
        dpid = f"{each.dpid:x}" if each.dpid else ""
        made.add_row(each.peer, dpid, render.age(each.time, found.time), each.reason)
    return made


def _details(switch: pb.SwitchStatus, found: pb.Status) -> Table:
    said = switch.description
    session = "connected" if switch.connected else "none"
    if switch.HasField("since"):
        age = render.age(switch.since, found.time)
        session += f" since {render.local_time(switch.since)}, {age}"
    state = render.switch_state(switch.state)
    rows: list[tuple[str, str | Text]] = [
        ("switch", switch.name),
        ("dpid", f"{switch.dpid:#018x}"),
        ("state", state.append(f": {switch.detail}" if switch.detail else "")),
        ("session", session),
        ("connects", str(switch.connects)),
        ("peer", switch.peer),
        ("OpenFlow", switch.openflow),
        ("manufacturer", said.manufacturer),
        ("hardware", said.hardware),
        ("software", said.software),
        ("serial number", said.serial),
        ("calls itself", said.datapath),
        ("holds", f"{switch.flows} flows, {switch.groups} groups"),
        ("not Heald's", f"{switch.foreign_entries} entries" if switch.foreign_entries else ""),
        ("table changes sent", str(switch.messages_sent)),
        ("lacks ports", ", ".join(map(str, switch.missing_ports))),
        ("last error", _last_error(switch, found)),
    ]
    made = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    for what, value in rows:
        if value:
            made.add_row(what, value)
    return made


def _in_short(said: pb.SwitchDescription) -> str:
    return " ".join(filter(None, (said.manufacturer, said.hardware, said.software)))


def _last_error(switch: pb.SwitchStatus, found: pb.Status) -> str:
    if not switch.HasField("last_error_time"):
        return switch.detail
    return f"{switch.last_error} ({render.age(switch.last_error_time, found.time)} ago)"
