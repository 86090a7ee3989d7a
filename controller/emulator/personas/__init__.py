"""Kinds of switches, each a data file of this directory: what it is called, can do and can hold."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import yaml

from controller.openflow.model import Field


class PersonaError(ValueError):
    """A persona's file does not say what it must."""


@dataclass(frozen=True, slots=True)
class Persona:
    """``versions``: of OpenFlow, as on the wire. ``max_flows``, ``max_groups``, ``max_meters``: of
    the whole switch. ``masks``: the fields that can be matched in part, None for all that have
    parts. ``selection``: whether SELECT groups have a selection method; ``chaining``: whether a
    group may forward to a group. ``extensions``: Open vSwitch's own fields. ``eviction``: whether
    a full table may be told to make room. ``truncates``: whether a packet for the controllers is
    cut to the length that the action says."""

    name: str
    versions: tuple[int, ...]
    manufacturer: str
    hardware: str
    software: str
    serial: str
    tables: int
    max_flows: int
    max_groups: int
    max_buckets: int
    max_meters: int
    max_bands: int
    capabilities: int
    masks: frozenset[Field] | None
    masked_set_field: bool
    selection: bool
    chaining: bool
    extensions: bool
    bundles: bool
    eviction: bool
    local_port: bool
    truncates: bool


_KEYS = set(Persona.__dataclass_fields__)


def parse(text: str, source: str) -> Persona:
    """``source`` names the text in errors. Raises PersonaError."""
    given: Any = yaml.safe_load(text)
    if not isinstance(given, dict):
        raise PersonaError(f"{source}: a persona is a mapping of names to values")
    problems = [f"{key} is missing" for key in sorted(_KEYS - set(given))]
    problems += [f"{key} is not known" for key in sorted(set(given) - _KEYS)]
    if problems:
        raise PersonaError(f"{source}: {'; '.join(problems)}")
    masks = given["masks"]
    if masks is not None:
        unknown = [name for name in masks if name not in Field.__members__]
        if unknown:
            raise PersonaError(f"{source}: masks: no field is called {', '.join(unknown)}")
        masks = frozenset(Field[name] for name in masks)
    return Persona(**given | {"masks": masks, "versions": tuple(given["versions"])})


def names() -> list[str]:
    return sorted(
        entry.name.removesuffix(".yaml")
        for entry in files(__name__).iterdir()
        if entry.name.endswith(".yaml")
    )


def load(name: str) -> Persona:
    """One of :func:`names`. Raises PersonaError."""
    if name not in names():
        raise PersonaError(f"no persona is called {name!r}; there are {', '.join(names())}")
    source = f"{name}.yaml"
    return parse((files(__name__) / source).read_text(encoding="utf-8"), source)
