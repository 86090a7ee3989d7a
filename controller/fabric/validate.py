"""From a document to a ``FabricSpec``, or every problem in the words of the file."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from heapq import nsmallest
from typing import Any, get_args, get_origin

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from controller.fabric.document import Document, Path
from controller.fabric.errors import Problems, quoted
from controller.fabric.model import Provenance
from controller.fabric.schema import FabricSpec, Spec

# Keys that can be taken out when they are wrong, and nothing else seems wrong for it.
_HARMLESS = {"dpid", "role", "pod", "site", "limits", "ovsdb"}
_HARMLESS |= {"mac", "rail", "plane", "kind", "model", "domain", "labels"}
_HARMLESS |= {"name", "latency", "srlgs", "medium", "bfd"}
_HARMLESS |= {"share", "ceiling", "priority", "lossless"}
# What stands in for what is wrong while the rest is still looked at.
_STAND_INS: dict[str, Any] = {
    "fabric": "unnamed",
    "defaults": {"link": {"capacity": "1G"}, "nic": {"capacity": "1G"}},
    "gateway": {"mac": "02:00:00:00:ff:fe", "ipv4": "10.0.0.254", "ipv6": "fd00::fffe"},
}


@dataclass(frozen=True, slots=True)
class Validated:
    """A spec with what is wrong left out.

    ``links[i]`` is the place in the file of ``spec.links[i]``. ``switches`` names all that the file
    declares, so that what refers to a wrong one is not wrong itself.
    """

    spec: FabricSpec
    links: tuple[int, ...]
    switches: frozenset[str]


def validate(document: Document, problems: Problems) -> Validated | None:
    """None if too little is right to look for further problems."""
    data = document.root.data()
    try:
        spec = FabricSpec.model_validate(data)
    except ValidationError as invalid:
        errors = invalid.errors(include_url=False, include_input=False)
        for error in errors:
            problems.add(*_problem(document, error))
        return _rest(data, document.root.data(), errors)
    return _validated(spec, data, range(len(spec.links)))


def _validated(spec: FabricSpec, data: Any, links: Iterable[int]) -> Validated:
    return Validated(spec, tuple(links), frozenset(data["switches"]))


def _rest(data: Any, rest: Any, errors: list[ErrorDetails]) -> Validated | None:
    """What is left of ``rest``, a copy of ``data``, without what is wrong.

    That is the wrong key itself if the element is complete without it, else the element.
    """
    if not isinstance(data, dict) or not isinstance(data.get("switches"), dict):
        return None
    bad: dict[str, set[str | int]] = {}
    for error in errors:
        if not error["loc"]:
            return None
        section, *below = error["loc"]
        if len(below) > 1 and _mended(rest, error):
            continue
        if below and section in ("classes", "switches", "hosts", "links"):
            bad.setdefault(str(section), set()).add(below[0])
        else:
            rest.pop(str(section), None)
            if section in _STAND_INS:
                rest[section] = _STAND_INS[str(section)]
            elif section not in FabricSpec.model_fields:
                # Perhaps a misspelt `defaults`.
                rest.setdefault("defaults", _STAND_INS["defaults"])
    links = [i for i in range(len(rest.get("links") or ())) if i not in bad.get("links", ())]
    for section, elements in bad.items():
        if section == "links":
            rest["links"] = [rest["links"][i] for i in links]
        else:
            rest[section] = {k: v for k, v in rest[section].items() if k not in elements}
    try:
        spec = FabricSpec.model_validate(rest)
    except ValidationError:
        return None
    return _validated(spec, data, links)


def _mended(rest: Any, error: ErrorDetails) -> bool:
    *path, last = error["loc"]
    holder = rest
    for step in path:
        if isinstance(holder, dict):
            holder = holder.get(step)
        elif isinstance(holder, list) and isinstance(step, int):
            holder = holder[step]
    if not isinstance(holder, dict) or last not in holder:
        return False
    if last == "capacity":
        holder[last] = "1G"
    elif last in _HARMLESS or error["type"] == "extra_forbidden":
        del holder[last]
    else:
        return False
    return True


def _problem(document: Document, error: ErrorDetails) -> tuple[Provenance, str]:
    loc, kind = error["loc"], error["type"]
    context = error.get("ctx", {})
    if loc and loc[-1] == "[key]":
        return (document.where(loc[:-1], key=True), str(context["error"]))
    place = document.where(loc, key=kind in ("extra_forbidden", "missing"))
    if kind == "extra_forbidden":
        return (place, unknown(f"key {quoted(str(loc[-1]))}", str(loc[-1]), _keys(loc[:-1])))
    if kind == "missing":
        return (place, f"key '{loc[-1]}' is missing: add it")
    if kind in ("dict_type", "model_type"):
        keys = ", ".join(_keys(loc)) or "names"
        return (place, f"a mapping belongs here, with the keys {keys}")
    if kind == "list_type":
        return (place, "a list belongs here, like [leaf1:1, leaf2:1]")
    if kind in ("too_short", "too_long"):
        count = context["actual_length"]
        if loc[-1] == "ends":
            return (place, f"{count} ends: a link has two, like [leaf1:11, spine1:1]")
        limit = context.get("max_length")
        cure = "add one" if limit is None else f"{limit} are possible, split the fabric"
        return (place, f"{'no' if limit is None else 'too many'} {loc[-1]}: {cure}")
    return (place, str(context.get("error", error["msg"])))


def unknown(thing: str, found: str, choices: Iterable[str]) -> str:
    """``thing`` is unknown; perhaps one of ``choices`` was meant."""
    known = list(choices)
    # difflib is slow, and fabrics have thousands of names.
    similar = [
        choice
        for choice in known
        if abs(len(choice) - len(found)) <= 2
        and (choice[:1] == found[:1] or choice[-1:] == found[-1:])
    ]
    if close := difflib.get_close_matches(found, sorted(similar)[:500], n=1):
        return f"unknown {thing}: did you mean '{close[0]}'?"
    if not known:
        return f"unknown {thing}: none is declared"
    some = ", ".join(nsmallest(12, known))
    return f"unknown {thing}: known are {some}{', …' * (len(known) > 12)}"


def _keys(path: Path) -> list[str]:
    """The keys that the schema knows at ``path``; none for a mapping of names."""
    model: type[Spec] = FabricSpec
    inside = False
    for step in path:
        if inside:
            inside = False
        elif step in model.model_fields:
            annotation = model.model_fields[str(step)].annotation
            inner = _spec_in(annotation)
            if inner is None:
                return []
            model, inside = inner, _is_container(annotation)
    return [] if inside else list(model.model_fields)


def _spec_in(annotation: Any) -> type[Spec] | None:
    if isinstance(annotation, type) and issubclass(annotation, Spec):
        return annotation
    return next(filter(None, map(_spec_in, get_args(annotation))), None)


def _is_container(annotation: Any) -> bool:
    return get_origin(annotation) in (dict, list)
