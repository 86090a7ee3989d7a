"""What there is, and what it carries."""

from __future__ import annotations

from collections.abc import Sequence

from controller.emulator.shell.answer import Answer
from controller.lab.prompt import words as w
from controller.lab.prompt.command import Command, Session, UsageError
from controller.lab.prompt.ground import Way

_OVER_S = 1.0

WAY_COLUMNS = ("link", "from", "to", "state", "capacity_bps", "load_bps", "used_share")


def _links(session: Session, words: Sequence[str]) -> Answer:
    plain, options = w.options(words, {"for": w.seconds})
    chosen = chosen_cables(session, plain)
    ways = session.ground.ways(options.get("for", _OVER_S))
    return session.say("", WAY_COLUMNS, [row(way) for way in ways if way.cable in chosen])


def chosen_cables(session: Session, names: Sequence[str]) -> set[str]:
    """Those of links, NICs, switches and hosts of these names; all, where none is named."""
    ends = w.cable_ends(session.ground.fabric)
    nodes = {node for places in ends.values() for node in places}
    for name in names:
        w.one_of(name, [*nodes, *ends], "link, NIC, switch or host")
    return {
        cable
        for cable, places in ends.items()
        if not names or cable in names or not places.isdisjoint(names)
    }


def row(way: Way) -> tuple[object, ...]:
    ends = way.cable, way.tail, way.head, way.state
    return *ends, way.capacity_bps, round(way.load_bps, 1), round(way.used, 6)


def _hosts(session: Session, words: Sequence[str]) -> Answer:
    if words:
        raise UsageError
    rows = [
        (
            nic.id,
            " ".join(map(str, nic.attachments)),
            " ".join(map(str, nic.addresses)),
            nic.capacity_bps,
        )
        for nic in session.ground.fabric.nics
    ]
    return session.say("", ("nic", "at", "addresses", "capacity_bps"), rows)


COMMANDS = {
    "links": Command(
        _links,
        (("links [NAME...] [for=S]", "what each direction of each cable carries"),),
        ("links", "links spine1", "links leaf1 leaf2 for=5"),
    ),
    "hosts": Command(_hosts, (("hosts", "NICs, where they are plugged in, their addresses"),)),
}
