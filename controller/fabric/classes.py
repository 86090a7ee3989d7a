"""Traffic classes: the presets that ``classes:`` may name, and what each class is guaranteed.

A preset stands for the classes below it, as if they had been written out, at the place where it is
named; so all that follows treats both alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from controller.fabric.document import Document, Node, node_at
from controller.fabric.errors import Problems, quoted
from controller.fabric.model import TrafficClass
from controller.fabric.validate import unknown

KEY = "classes"
PRESET = "preset"

Written: TypeAlias = Mapping[str, Mapping[str, str | list[str]]]
"""Classes by name, in the words of the file."""

_CNP = {"dscp": "48", "queue": "6", "share": "2%", "priority": "7"}
_HALF_OF_THE_REST = "49%"

PRESETS: Mapping[str, Written] = {
    "heald": {
        "control": {"dscp": "56", "queue": "7", "share": "1%", "priority": "7"},
        "cnp": {**_CNP, "priority": "6"},
        "latency": {"dscp": "46", "queue": "5", "share": "7%", "priority": "5"},
        "roce": {"dscp": "26", "queue": "3", "share": "50%", "lossless": "true"},
        "storage": {"dscp": "24", "queue": "4", "share": "20%", "lossless": "true"},
        "services": {"dscp": "18", "queue": "1", "share": "10%"},
        "best-effort": {"queue": "0", "share": "10%"},
    },
    "nvidia": {
        "cnp": _CNP,
        "roce": {"dscp": "26", "queue": "3", "share": _HALF_OF_THE_REST, "lossless": "true"},
        "best-effort": {"queue": "0", "share": _HALF_OF_THE_REST},
    },
    "sonic-azure": {
        "scavenger": {"dscp": "8", "queue": "0", "share": "14%"},
        "best-effort": {"queue": "1", "share": "14%"},
        "remapped": {"dscp": "5", "queue": "2", "share": "14%"},
        "lossless-3": {"dscp": "3", "queue": "3", "share": "15%", "lossless": "true"},
        "lossless-4": {"dscp": "4", "queue": "4", "share": "15%", "lossless": "true"},
        "heartbeat": {"dscp": "46", "queue": "5", "share": "14%"},
        "cnp": {"dscp": "48", "queue": "6", "share": "14%"},
    },
    "dell-os10": {
        "cnp": _CNP,
        "roce": {"dscp": ["26", "24"], "queue": "3", "share": "49%", "lossless": "true"},
        "storage": {"dscp": "4", "queue": "4", "share": "24%", "lossless": "true"},
        "best-effort": {"queue": "0", "share": "25%"},
    },
    "oci": {
        "cnp": _CNP,
        "roce": {"dscp": "10", "queue": "3", "share": _HALF_OF_THE_REST, "lossless": "true"},
        "best-effort": {"queue": "0", "share": _HALF_OF_THE_REST},
    },
}
"""``docs/topology.md`` says where each is from, and what of it is Heald's choice."""


def expand_classes(document: Document, problems: Problems) -> Document:
    """``document`` with the classes of the preset that it names, if it names one; a class that it
    writes out itself is as written."""
    root = document.root
    if not isinstance(root.value, dict) or KEY not in root.value:
        return document
    key, node = root.value[KEY]
    if isinstance(node.value, str):
        place, written = node, dict[str, tuple[Node, Node]]()
    elif isinstance(node.value, dict) and PRESET in node.value:
        place = node.value[PRESET][1]
        written = {name: pair for name, pair in node.value.items() if name != PRESET}
    else:
        return document
    found = PRESETS.get(place.value) if isinstance(place.value, str) else None
    if found is None:
        what = quoted(place.value) if isinstance(place.value, str) else "of this kind"
        path = (KEY,) if place is node else (KEY, PRESET)
        problems.add(document.where(path), unknown(f"preset {what}", str(place.value), PRESETS))
    made = {
        name: (node_at(name, place), node_at(dict(v), place)) for name, v in (found or {}).items()
    }
    classes = Node(node.line, node.column, {**made, **written})
    value = {**root.value, KEY: (key, classes)}
    return Document(document.file, Node(root.line, root.column, value))


def shares(classes: Sequence[TrafficClass]) -> Mapping[str, float]:
    """What part of a port each class is guaranteed, by name; those that ask for no share divide
    what the others leave."""
    silent = [c for c in classes if c.share is None]
    left = max(0.0, 1.0 - sum(c.share for c in classes if c.share is not None))
    return {c.name: left / len(silent) if c.share is None else c.share for c in classes}
