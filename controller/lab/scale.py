"""A topology file with all capacities multiplied, for labs of fabrics faster than a lab can be."""

from __future__ import annotations

import re

import yaml

from controller.fabric.quantities import rate_bps

_PROPERTIES = re.compile(r"(?:[&!]\S*\s+)*")
"""Anchor and tag before a value; the parser counts them to it."""


def scaled_topology(text: str, factor: float) -> str:
    """The same text with each ``capacity`` multiplied by ``factor``, all else kept."""
    values: dict[int, tuple[int, str]] = {}
    _collect(yaml.compose(text, Loader=yaml.CSafeLoader), values)
    for start in sorted(values, reverse=True):
        end, value = values[start]
        try:
            bps = rate_bps(value)
        except ValueError:
            continue  # Not a rate: a label of that name, or an error that `load` will report.
        properties = _PROPERTIES.match(text, start)
        begin = properties.end() if properties else start
        text = f"{text[:begin]}{bps * factor / 1000:f}K{text[end:]}"
    return text


def _collect(node: yaml.Node | None, values: dict[int, tuple[int, str]]) -> None:
    """Places of all values of ``capacity``, start to (end, text); an alias is at its anchor."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == "capacity" and isinstance(value, yaml.ScalarNode):
                values[value.start_mark.index] = (value.end_mark.index, value.value)
            _collect(value, values)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _collect(item, values)
