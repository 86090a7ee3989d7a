"""A topology file in which every switch has the OVSDB address of the lab."""

from __future__ import annotations

import yaml


def with_ovsdb(text: str, address: str) -> str:
    """The same text with ``ovsdb: address`` at each switch that stands in it, all else kept; those
    that a ``generate`` block makes get none."""
    root = yaml.compose(text, Loader=yaml.CSafeLoader)
    assert isinstance(root, yaml.MappingNode)
    edits: dict[int, tuple[int, str]] = {}
    for key, switches in root.value:
        if key.value == "switches":
            for _, value in switches.value:
                begin, end, put = _edit(value, address)
                edits[begin] = end, put
    for begin in sorted(edits, reverse=True):
        end, put = edits[begin]
        text = text[:begin] + put + text[end:]
    return text


def _edit(value: yaml.Node, address: str) -> tuple[int, int, str]:
    """Start, end and replacement; an alias is at its anchor, which is then edited once."""
    if not isinstance(value, yaml.MappingNode):
        return value.start_mark.index, value.end_mark.index, f" {{ovsdb: '{address}'}}"
    for key, known in value.value:
        if key.value == "ovsdb":
            return known.start_mark.index, known.end_mark.index, f"'{address}'"
    if not value.value:
        inside = value.end_mark.index - 1
        return inside, inside, f"ovsdb: '{address}'"
    first = value.value[0][0].start_mark
    after = ", " if value.flow_style else f"\n{' ' * first.column}"
    return first.index, first.index, f"ovsdb: '{address}'{after}"
