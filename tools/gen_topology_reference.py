#!/usr/bin/env python3
"""Generate docs/topology-reference.md from controller/fabric: schema, generators and presets.

With --check nothing is written; the exit code is 1 if the page is not fresh.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import itertools
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo

from controller.fabric import schema
from controller.fabric.check import mac_text
from controller.fabric.generate.kinds import KINDS
from controller.fabric.generate.parameters import Rates
from controller.fabric.generate.presets import PRESETS
from controller.fabric.quantities import time_text
from controller.fabric.schema import FabricSpec, Spec

PAGE = Path(__file__).resolve().parent.parent / "docs" / "topology-reference.md"

HEAD = """\
# Topology reference

<!-- Made by tools/gen_topology_reference.py from controller/fabric; `make reference` renews it. -->

Every key of [the topology file](topology.md), every size of a generated fabric, and how values are
written.
"""
# Where the name of the type is not what people call it.
WORDS = {
    "RateBps": "rate",
    "TimeS": "time",
    "Mac": "MAC",
    "Ip": "IP",
    "Ipv4": "IPv4",
    "Ipv6": "IPv6",
    "Dpid": "datapath id",
    "Dscp": "DSCP",
    "BfdIntervalMs": "BFD interval",
    "BfdMultiplier": "BFD multiplier",
    "Ovsdb": "OVSDB address",
    "Index": "rail or plane",
    "YesOrNo": "yes or no",
}
_DEFAULT = re.compile(r"\s*Default: (.*?)\.?$", re.DOTALL)
_WRAPPERS = re.compile(r"\b(?:Maybe|Optional|Annotated)\b")


class Source:
    """What the text of the schema says that its objects do not: names of types, texts below."""

    def __init__(self) -> None:
        self.kinds: dict[str, str] = {}
        self.annotations: dict[tuple[str, str], str] = {}
        self.texts: dict[tuple[str, str], str] = {}
        body = ast.parse(inspect.getsource(schema)).body
        for name, _, text in _documented(body):
            self.kinds[name] = text
        for node in body:
            if isinstance(node, ast.ClassDef):
                for name, annotation, text in _documented(node.body):
                    self.annotations[node.name, name] = annotation
                    self.texts[node.name, name] = text

    def of(self, model: type[Spec], name: str) -> tuple[str, str]:
        """(Annotation, text) of a key, which may stand in a base of the model."""
        for each in model.__mro__:
            if text := self.texts.get((each.__name__, name)):
                return self.annotations[each.__name__, name], text
        sys.exit(
            f"gen_topology_reference: {model.__name__}.{name} in controller/fabric/schema.py has "
            "no text below it: say what the key is for"
        )


def _documented(body: list[ast.stmt]) -> Iterator[tuple[str, str, str]]:
    """Name, annotation or value, and the text below of each assignment that has one."""
    for node, after in itertools.pairwise(body):
        if not (isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)):
            continue
        text = inspect.cleandoc(str(after.value.value)).replace("\n", " ").replace("``", "`")
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, ast.unparse(node.annotation), text
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, ast.unparse(node.value), text


def models(model: type[Spec], path: str = "") -> Iterator[tuple[str, type[Spec]]]:
    """Where each kind of mapping stands; the top level first."""
    yield path, model
    for name, field in model.model_fields.items():
        inner = _spec_in(field.annotation)
        if inner is not None:
            many = "dict" in str(field.annotation)
            yield from models(inner, f"{path}{name}: " + "NAME: " * many)


def _spec_in(annotation: Any) -> type[Spec] | None:
    if isinstance(annotation, type) and issubclass(annotation, Spec):
        return annotation
    parts = getattr(annotation, "__args__", ())
    return next(filter(None, map(_spec_in, parts)), None)


def keys(source: Source) -> Iterator[str]:
    places: dict[type[Spec], list[str]] = {}
    for path, model in models(FabricSpec):
        places.setdefault(model, []).append(path.strip())
    for model, paths in places.items():
        yield f"## {' and '.join(f'`{path}`' for path in paths) if paths[0] else 'Top level'}\n"
        doc = model.__dict__.get("__doc__")
        if doc and model is not FabricSpec:
            yield inspect.cleandoc(doc).replace("``", "`") + "\n"
        yield "| key | value | default | |\n|---|---|---|---|"
        for name, field in model.model_fields.items():
            annotation, text = source.of(model, name)
            usual = _usual(field)
            if found := _DEFAULT.search(text):
                usual, text = found[1], text[: found.start()]
            yield f"| `{name}` | {_value(annotation, places, field)} | {usual} | {text} |"
        yield ""


def _value(annotation: str, places: dict[type[Spec], list[str]], field: FieldInfo) -> str:
    inner = _spec_in(field.annotation)
    if inner is not None:
        several = "name to " if "Named" in annotation or "dict[" in annotation else ""
        several = "list of " if "list[" in annotation else several
        anchor = re.sub(r"[^\w\- ]", "", " and ".join(places[inner])).lower().replace(" ", "-")
        return f"{several}[keys](#{anchor})"
    if annotation == "Any":
        return "[sizes](#sizes-of-whole-fabrics)"
    inside = re.findall(r"[A-Za-z0-9]+", _WRAPPERS.sub("", annotation))
    kind = next(word for word in inside if word not in ("OneOrMany", "Named", "list"))
    word = WORDS.get(kind, kind.lower())
    if "Named" in annotation:
        return f"name to {word}"
    if annotation.startswith("Annotated[list"):
        return f"two {word}s"
    return f"{word}, or a list" if "OneOrMany" in annotation else word


def _usual(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.default
    if value is None or value in ({}, []):
        return "none"
    if isinstance(value, Spec):
        return "those of its keys"
    if isinstance(value, float):
        return f"`{time_text(value)}`"
    if isinstance(value, int) and value > 1 << 40:
        return f"`{mac_text(value)}`"
    return f"`{value}`"


def values(source: Source) -> Iterator[str]:
    yield "## How values are written\n"
    yield "| value | |\n|---|---|"
    for name, text in source.kinds.items():
        yield f"| {WORDS.get(name, name.lower())} | {text} |"
    yield ""


def sizes() -> Iterator[str]:
    yield "## Sizes of whole fabrics\n"
    yield (
        "Keys of a `generate:` block beside its `kind`, and options of "
        "`heald topology generate KIND`.\n"
    )
    for kind, model in KINDS.items():
        yield f"### `{kind}`\n"
        yield inspect.cleandoc(str(model.__doc__)) + "\n"
        yield "| size | default | |\n|---|---|---|"
        for name, field in model.model_fields.items():
            yield f"| `{name}` | {_size(field)} | {field.description} |"
        yield ""
    yield "### Presets\n"
    yield (
        "Sizes and rates are those of the topology templates of the SimAI simulator; other options "
        "change them.\n"
    )
    yield "| preset | kind | sizes | NIC | link | |\n|---|---|---|---|---|---|"
    for name, preset in PRESETS.items():
        given = ", ".join(f"{key} {value}" for key, value in preset.parameters.items())
        about = preset.about.partition(" Sizes and rates: ")[0]
        rates = f"{preset.nic} | {preset.link}"
        yield f"| `{name}` | `{preset.kind}` | {given} | {rates} | {about} |"
    yield ""


def _size(field: FieldInfo) -> str:
    if isinstance(field.default, Rates):
        latency = field.default.latency
        return "" if latency is None else f"latency `{time_text(latency)}`"
    if field.default is None:
        return "none" if "[" not in str(field.description) else ""
    if isinstance(field.default, tuple):
        return "`" + "x".join(map(str, field.default)) + "`"
    return f"`{field.default}`"


def page() -> str:
    source = Source()
    lines = [*keys(source), *values(source), *sizes()]
    return HEAD + "\n" + "\n".join(lines).rstrip() + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, fail if not fresh")
    fresh = page()
    if not parser.parse_args().check:
        PAGE.write_text(fresh, encoding="utf-8")
    elif not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != fresh:
        sys.exit(f"gen_topology_reference: {PAGE.name} is not fresh: run `make reference`")


if __name__ == "__main__":
    main()
