"""``heald topology generate``: a topology file of a whole fabric."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import click
from pydantic import ValidationError

from controller.cli import render
from controller.fabric import quantities
from controller.fabric.errors import TopologyErrors
from controller.fabric.generate import kinds, write
from controller.fabric.generate.draft import Value
from controller.fabric.generate.kinds import KINDS
from controller.fabric.generate.parameters import ParameterErrors, Parameters, Rates
from controller.fabric.generate.presets import PRESETS, Preset
from controller.fabric.load import load
from controller.fabric.quantities import time_text
from controller.fabric.schema import Defaults

# Option, path in `defaults`, default, help.
_DEFAULTS = (
    ("nic", ("nic", "capacity"), "400G", "rate of a NIC [400G]"),
    ("link", ("link", "capacity"), "400G", "rate of a link [400G]"),
    ("latency", ("link", "latency"), "500ns", "latency of a link [500ns]"),
    ("accelerator", ("accelerator", "kind"), None, "kind of accelerators [gpu]"),
    ("model", ("accelerator", "model"), None, "model of accelerators"),
)


@click.group(
    epilog="""\b
Examples:
  heald topology generate leaf-spine --leaves 8 --spines 4 --hosts 16 -o fabric.yaml
  heald topology generate rail --preset spectrum-x --segments 2
  heald topology generate torus --dimensions 4x4x4 --block
"""
)
def generate() -> None:
    """Write the topology file of a whole fabric.

    Each KIND has its own sizes: heald topology generate KIND --help.
    """


def _command(kind: type[Parameters]) -> click.Command:
    presets = {name: preset for name, preset in PRESETS.items() if preset.kind == kind.kind}
    options: list[click.Parameter] = []
    for name, field in kind.model_fields.items():
        option = f"--{name.replace('_', '-')}"
        if isinstance(field.default, Rates):
            about = f"rate of {field.description} [as the others]"
            options.append(click.Option([option, f"{name}__capacity"], help=about, metavar="RATE"))
            latency = field.default.latency
            usual = "as the others" if latency is None else time_text(latency)
            about = f"latency of {field.description} [{usual}]"
            path = f"{name}__latency"
            options.append(click.Option([f"{option}-latency", path], help=about, metavar="TIME"))
            continue
        default = "" if field.default is None else f" [{_shown(field.default)}]"
        about = f"{field.description}{default}"
        options.append(click.Option([option, name], help=about, metavar="N"))
    for name, _, _, about in _DEFAULTS:
        options.append(click.Option([f"--{name}", f"defaults__{name}"], help=about))
    if presets:
        about = "a published fabric; other options change it"
        options.append(click.Option(["--preset"], type=click.Choice(list(presets)), help=about))
    options += [
        click.Option(["--name"], help=f"name of the fabric [{kind.kind}]"),
        click.Option(["--block"], is_flag=True, help="write a `generate` block, not each element"),
        click.Option(
            ["--output", "-o"],
            metavar="FILE",
            type=click.Path(dir_okay=False, path_type=Path),
            help="write to FILE, not to standard output",
        ),
    ]
    examples = [f"{kind.example} -o fabric.yaml", f"{kind.example} --block"]
    examples += [f"--preset {name} --block" for name in presets]
    lines = "\n".join(f"  heald topology generate {kind.kind} {each}" for each in examples)
    about = str(kind.__doc__)
    if presets:
        listed = "\n\n".join(f"{name}: {preset.about}" for name, preset in presets.items())
        about += f"\n\nPresets.\n\n{listed}"

    def run(**given: Any) -> None:
        _run(kind, given)

    return click.Command(
        kind.kind, params=options, callback=run, help=about, epilog=f"\b\nExamples:\n{lines}\n"
    )


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return "x".join(map(str, value))
    return str(value)


def _run(kind: type[Parameters], given: dict[str, Any]) -> None:
    preset = PRESETS[given["preset"]] if given.get("preset") else None
    output: Path | None = given["output"]
    words = _usual(kind) | (dict(preset.parameters) if preset else {})
    for path, value in given.items():
        name, _, inner = path.partition("__")
        if value is None or name not in kind.model_fields:
            continue
        if inner:
            holder = words.setdefault(name, {})
            assert isinstance(holder, dict)
            holder[inner] = value
        else:
            words[name] = value
    defaults = _defaults(given, preset)
    name = given["name"] or given.get("preset") or kind.kind
    about = [preset.about if preset else str(kind.__doc__)]
    wrong: list[str] = []
    parameters, read = None, None
    try:
        parameters = kind.read(words)
    except ParameterErrors as errors:
        wrong += _of_parameters(errors)
    try:
        read = Defaults.model_validate(defaults)
    except ValidationError as error:
        wrong += map(_of_defaults, error.errors())
    try:
        quantities.name(name)
    except ValueError as error:
        wrong.append(f"--name: {error}")
    if parameters is None or read is None or wrong:
        _fail(wrong)
    try:
        made = kinds.elements(parameters, read)
        if given["block"]:
            notes = {n: str(f.description) for n, f in kind.model_fields.items()}
            text = write.block(name, defaults, {"kind": kind.kind, **words}, notes, about)
        else:
            text = write.expanded(name, defaults, made, [*about, _again(kind, given)])
        load(text.encode(), "what was generated")
    except ParameterErrors as errors:
        _fail(_of_parameters(errors))
    except TopologyErrors as errors:
        _fail(list(dict.fromkeys(problem.text for problem in errors.problems)))
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        output.write_text(text)
    except OSError as error:
        _fail([f"{output} cannot be written ({error.strerror}): give the path of a file"])
    counts = f"{len(made.switches)} switches, {len(made.hosts)} hosts, {len(made.links)} links"
    click.echo(f"{output}: {counts}", err=True)


def _usual(kind: type[Parameters]) -> dict[str, Value]:
    """The defaults in words, so that a file stays what it is should they ever change."""
    words: dict[str, Value] = {}
    for name, field in kind.model_fields.items():
        if isinstance(field.default, Rates):
            if field.default.latency is not None:
                words[name] = {"latency": time_text(field.default.latency)}
        elif field.default is not None:
            words[name] = _shown(field.default)
    return words


def _defaults(given: Mapping[str, Any], preset: Preset | None) -> dict[str, Value]:
    """The ``defaults`` of the file, in words."""
    of_preset = {} if preset is None else _rates_of(preset)
    out: dict[str, Value] = {}
    for name, (section, key), usual, _ in _DEFAULTS:
        value = given[f"defaults__{name}"] or of_preset.get(name) or usual
        if value is not None:
            held = out.setdefault(section, {})
            assert isinstance(held, dict)
            held[key] = value
    return out


def _rates_of(preset: Preset) -> dict[str, str]:
    return {
        "nic": preset.nic,
        "link": preset.link,
        "latency": preset.latency,
        "model": preset.model,
    }


def _again(kind: type[Parameters], given: Mapping[str, Any]) -> str:
    """The command that makes this."""
    words = [f"heald topology generate {kind.kind}"]
    for path, value in given.items():
        if isinstance(value, str) and path != "output":
            option = path.removeprefix("defaults__").removesuffix("__capacity")
            option = option.replace("__", "-").replace("_", "-")
            words += [f"--{option}", shlex.quote(value)]
    return " ".join(words)


def _of_parameters(errors: ParameterErrors) -> list[str]:
    return [f"{_option(path)}{text}" for path, text in errors.found]


def _of_defaults(error: Any) -> str:
    option = next(name for name, path, _, _ in _DEFAULTS if path == error["loc"])
    return f"--{option}: {error['ctx']['error']}"


def _option(path: tuple[str, ...]) -> str:
    if not path:
        return ""
    name = "-".join(part for part in path if part != "capacity").replace("_", "-")
    return f"--{name}: "


def _fail(lines: list[str]) -> NoReturn:
    for line in lines:
        click.echo(f"heald: {line}", err=True)
    sys.exit(render.EXIT_WRONG_INPUT)


for _kind in KINDS.values():
    generate.add_command(_command(_kind))
