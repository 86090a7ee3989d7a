"""``heald plan FILE`` for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from controller.cli import render
from controller.cli.certificate import failure_line

FEW = 8
"""Lines of a list that explains something; --json has more."""


def show(report: Mapping[str, Any], links: int) -> None:
    """Print a report of ``plan_report``, with so many links."""
    out = render.console()
    _head(out, report)
    out.print(_plans(report))
    if failure := report["failure"]:
        out.print(f"{report['after']}, {failure_line(**failure)}", soft_wrap=True)
    out.print()
    _links(out, report, links)
    _bound(out, report)
    _fair(out, report)
    _notes(out, report)
    spent = ", ".join(f"{stage} {_seconds(s)}" for stage, s in report["seconds"].items())
    out.print(f"Seconds: {spent}.", soft_wrap=True)


def _head(out: Console, report: Mapping[str, Any]) -> None:
    counts, demands = report["counts"], report["demands"]
    out.print(
        f"{report['fabric']}: {counts['switches']} switches, {counts['links']} links, "
        f"{counts['hosts']} hosts. {counts['demands']:,} demands between switches, "
        f"{render.bps(demands['bps'])}bit/s ({demands['from']}), {counts['trees']} trees.",
        soft_wrap=True,
    )
    out.print()


def _plans(report: Mapping[str, Any]) -> Table:
    made = render.table("STRATEGY", ">WORST LINK", ">BOUND", ">GAP", ">SECONDS", "BY")
    first, *others = report["plans"]
    order = [p for p in others if p["strategy"] == report["before"]]
    order += [first, *(p for p in others if p["strategy"] != report["before"])]
    for each in order:
        made.add_row(
            each["strategy"],
            render.percent(each["mlu"]),
            render.percent(each["bound"]),
            "∞" if each["gap"] is None else f"{100 * each['gap']:.2f}%",
            _seconds(each["seconds"]),
            each["solver"],
        )
    return made


def _links(out: Console, report: Mapping[str, Any], count: int) -> None:
    before, after = report["before"], report["after"]
    made = render.table("SENDER", "RECEIVER", ">CAPACITY")
    made.add_column(before.upper(), justify="right")
    made.add_column("", min_width=render.BAR_CELLS)
    if after != before:
        made.add_column(after.upper(), justify="right")
        made.add_column("", min_width=render.BAR_CELLS)

    def used(link: Mapping[str, Any]) -> tuple[float, float]:
        capacity = link["capacity_bps"]
        return link["before_bps"] / capacity, link["after_bps"] / capacity

    links = sorted(report["links"], key=lambda link: -max(used(link)))
    worst = [max((used(link)[i] for link in links), default=0.0) for i in range(2)]
    for link in links[:count]:
        row = [link["sender"], link["receiver"], render.bps(link["capacity_bps"])]
        for i, share in enumerate(used(link)[: 1 if after == before else 2]):
            style = "red" if share > 0 and share >= worst[i] * (1 - 1e-9) else "cyan"
            row += [render.percent(share), render.bar(share, style)]
        made.add_row(*row)
    if count:
        out.print(made)
    if len(links) > count:
        rest = max(max(used(link)) for link in links[count:])
        out.print(
            f"{len(links) - count:,} more directions of links, none above {render.percent(rest)}: "
            f"--links {len(links)}"
        )
    out.print()


def _bound(out: Console, report: Mapping[str, Any]) -> None:
    bound = report["bound"]
    if not bound["mlu"]:
        out.print("There is no traffic that needs a link.\n")
        return
    links, demands = bound["links"], bound["largest"]
    out.print(
        f"No weights over these trees take the worst link below {render.percent(bound['mlu'])}. "
        f"{_count(len(links), 'direction')} of links stand{'s' if len(links) == 1 else ''} in the "
        f"way of more, and {_count(bound['demands'], 'demand')} that ha"
        f"{'s' if bound['demands'] == 1 else 've'} no way around. More capacity there or less of "
        "that traffic lowers it, and hardly anything else; PART says what counts most.",
        soft_wrap=True,
    )
    made = render.table("  SENDER", "RECEIVER", ">CAPACITY", ">PART")
    for link in links[:FEW]:
        capacity = render.bps(link["capacity_bps"])
        made.add_row(
            "  " + link["sender"], link["receiver"], capacity, render.percent(link["part"])
        )
    out.print(made)
    _more(out, len(links))
    whose = ("INTENTS",) if any(each["intents"] for each in demands) else ()
    made = render.table("  FROM", "TO", "CLASS", ">RATE", ">PART", *whose)
    for each in demands[:FEW]:
        rate, part = render.bps(each["bps"]), render.percent(each["part"])
        made.add_row(*_ends(each), rate, part, *(", ".join(each["intents"]) for _ in whose))
    out.print(made)
    _more(out, bound["demands"])
    out.print()


def _fair(out: Console, report: Mapping[str, Any]) -> None:
    fair = report["fair_rates"]
    if fair is None:
        return
    part = fair["granted_bps"] / fair["asked_bps"]
    out.print(
        f"This is more than fits. Shared fairly (max-min), {render.bps(fair['granted_bps'])}bit/s "
        f"of {render.bps(fair['asked_bps'])}bit/s ({render.percent(part)}) get through; "
        f"{_count(fair['cut'], 'demand')} get less than asked for, these the least of it:",
        soft_wrap=True,
    )
    made = render.table("  FROM", "TO", "CLASS", ">ASKED", ">FAIR", ">PART")
    for each in fair["most_cut"][:FEW]:
        asked, rate = each["bps"], each["fair_bps"]
        made.add_row(
            *_ends(each), render.bps(asked), render.bps(rate), render.percent(rate / asked)
        )
    out.print(made)
    _more(out, fair["cut"])
    out.print()


def _notes(out: Console, report: Mapping[str, Any]) -> None:
    demands, pinned = report["demands"], report["pinned"]
    if pinned["flows"]:
        out.print(
            f"{_count(pinned['flows'], 'flow')} with paths of their own come first: loads of links "
            "have what they reserve; worst link, bound and gap are of the rest, on what they leave."
        )
    for intent, lack in pinned["short"].items():
        what = "is refused" if lack["refused"] else "gets less than it asks for"
        out.print(f"! intent {intent} {what}: {lack['lacks']}", soft_wrap=True)
    for key, text in (
        ("local_bps", "meets in one switch and needs no link"),
        ("by_pins_bps", "goes by paths that are reserved for it, and counts there"),
        ("not_allowed_bps", "is let through by no intent, and is left out"),
    ):
        if demands[key]:
            out.print(f"{render.bps(demands[key])}bit/s of the traffic {text}.")
    for key in report["unroutable"][:FEW]:
        out.print(f"! no way from {key['from']} to {'+'.join(key['to'])} ({key['class']})")
    _more(out, len(report["unroutable"]))


def _ends(each: Mapping[str, Any]) -> tuple[str, str, str]:
    return "  " + each["from"], "+".join(each["to"]), each["class"]


def _count(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _more(out: Console, count: int) -> None:
    if count > FEW:
        out.print(f"  and {count - FEW:,} more: --json")


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f}" if seconds < 1 else f"{seconds:.1f}"
