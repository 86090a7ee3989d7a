"""``heald status``: is all well, and if not, what to do."""

from __future__ import annotations

import click
from rich.table import Table
from rich.text import Text

from controller.cli import render
from heald.v1 import fabric_pb2 as pb


@click.command(epilog="\b\nExamples:\n  heald status\n  heald status --json | jq .problems")
@click.option("--json", "as_json", is_flag=True)
@click.pass_obj
def status(server: str | None, as_json: bool) -> None:
    """How the controller, its switches and its intents fare."""
    with render.controller(server) as client:
        found = client.status()
    if as_json:
        click.echo(render.to_json(found))
        return
    out = render.console()
    out.print(
        f"Heald {found.version} on {client.server}: fabric {found.fabric} "
        f"(version {found.fabric_version}), epoch {found.epoch}, "
        f"since {render.local_time(found.start_time)}"
    )
    out.print(f"metrics: {'on' if found.metrics_enabled else 'off'}; intents: {_intents(found)}")
    if found.HasField("plan"):
        out.print(plan_line(found.plan))
    for name, state in sorted(found.processes.items()):
        out.print(f"{name}: {state}")
    out.print()
    out.print(_switches(found))
    out.print()
    unfinished = _unfinished(found)
    if unfinished:
        out.print(f"not settled yet: {', '.join(unfinished)}", style="yellow")
    short = [
        f"{found.intents_by_state[state]} {state.lower()}"
        for state in ("DEGRADED", "REJECTED")
        if found.intents_by_state.get(state)
    ]
    if short:
        out.print(f"intents {' and '.join(short)}: heald intent list says why", style="yellow")
    elif not unfinished and not found.problems:
        out.print("all is well", style="green")
    if found.drains:
        names = (getattr(each, each.WhichOneof("element") or "link") for each in found.drains)
        out.print(f"drained: {', '.join(names)}", style="yellow")
    if found.topology.running.applied and found.topology.file_differs:
        out.print(_applied(found.topology), style="yellow", soft_wrap=True)
    for problem in found.problems:
        out.print(Text.assemble(("! ", "bold red"), problem))


def _applied(topology: pb.TopologyStatus) -> str:
    running = topology.running
    return (
        f"topology: {running.name}, applied by {running.principal} at "
        f"{render.local_time(running.time)}; {topology.file} differs, and counts once it is saved "
        "with other content"
    )


def plan_line(plan: pb.Plan) -> str:
    """One sentence on how good a plan is."""
    certificate = plan.certificate
    installed = "installed" if plan.committed else "being installed"
    if certificate.mlu == 0:
        return f"plan {plan.id} ({installed}): {certificate.strategy}, no traffic to place"
    return (
        f"plan {plan.id} ({installed}): {certificate.strategy} by {certificate.solver} in "
        f"{certificate.seconds:.2g} s; worst link {render.percent(certificate.mlu)}, "
        f"lower bound {render.percent(certificate.bound)}, gap {render.percent(certificate.gap)}"
    )


def _unfinished(found: pb.Status) -> list[str]:
    """What is under way and will be over by itself."""
    out = [
        f"{switch.name} {switch.state}"
        for switch in found.switches
        if switch.state in ("reading", "installing")
    ]
    out += [f"{name} {state}" for name, state in found.processes.items() if state == "starting"]
    out += [
        f"{count} intents {name.lower()}"
        for name, count in sorted(found.intents_by_state.items())
        if name in ("PENDING", "PLANNED", "INSTALLING", "WITHDRAWING")
    ]
    return out


def _intents(found: pb.Status) -> str:
    states = sorted(found.intents_by_state.items())
    return ", ".join(f"{count} {name.lower()}" for name, count in states) or "none"


def _switches(found: pb.Status) -> Table:
    made = render.table(
        "SWITCH",
        ">DPID",
        "STATE",
        "OPENFLOW",
        "PEER",
        ">FLOWS",
        ">GROUPS",
        ">SENT",
        "SINCE",
        "DETAIL",
    )
    for switch in found.switches:
        made.add_row(
            switch.name,
            f"{switch.dpid:x}",
            render.switch_state(switch.state),
            switch.openflow,
            switch.peer,
            str(switch.flows),
            str(switch.groups),
            str(switch.messages_sent),
            render.local_time(switch.since) if switch.HasField("since") else "",
            switch.detail,
        )
    return made
