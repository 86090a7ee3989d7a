"""Demands as people write them, in YAML or in a line of words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controller.emulator.keys import did_you_mean, parse_list, read_each, what_is_wrong
from controller.emulator.routes import Demand
from controller.fabric import quantities
from controller.fabric.model import Fabric

_ENDS = {"from": "source", "to": "target"}


class DemandError(ValueError):
    """What is written is no demand of this fabric."""


def parse(text: str, source: str, fabric: Fabric) -> tuple[Demand, ...]:
    """A YAML list of mappings, each with ``from`` and ``to`` (a NIC, or a host for the first of its
    NICs), ``rate`` (``10M``), and whatever else of a Demand is not the usual. Raises DemandError
    with all that is wrong; ``source`` names the text."""
    return read(
        parse_list(text, source, "traffic is a list of demands", DemandError), source, fabric
    )


def read(given: Sequence[Any], source: str, fabric: Fabric) -> tuple[Demand, ...]:
    """The same from what YAML holds."""

    def one(given: dict[str, Any]) -> Demand | list[str]:
        values, wrong = _values(given, fabric)
        wrong = wrong or what_is_wrong(Demand, values, "a demand") or _impossible(values, fabric)
        return wrong or Demand(**values)

    return read_each(given, source, "demand", one, DemandError)


def _values(given: Mapping[str, Any], fabric: Fabric) -> tuple[dict[str, Any], list[str]]:
    """The fields of a Demand, and what is wrong."""
    problems = []
    values = {k: v for k, v in given.items() if k not in (*_ENDS, "rate")}
    for key, field in _ENDS.items():
        name = given.get(key)
        host = fabric.host_by_name.get(str(name))
        if host is not None and host.nics:
            values[field] = host.nics[0].id
        elif str(name) in fabric.nic_by_id:
            values[field] = str(name)
        elif name is None:
            problems.append(f"a demand needs `{key}`: a host or a NIC")
        else:
            near = did_you_mean(str(name), [*fabric.host_by_name, *fabric.nic_by_id])
            problems.append(f"`{key}`: there is no host or NIC {name!r}{near}")
    if given.get("rate") is None:
        return values, [*problems, "a demand needs `rate`: bits per second, like 10M"]
    try:
        values["rate_bps"] = quantities.rate_bps(_scalar(given["rate"]))
    except ValueError as error:
        problems.append(f"`rate`: {error}")
    return values, problems


def _scalar(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) else value


_LIMITS = (
    ("dscp", 0, 63),
    ("protocol", 0, 255),
    ("port", 0, 65535),
    ("source_port", 0, 65535),
    ("flows", 1, 65536),
    ("frame_bytes", 64, 65535),
)


def _impossible(values: Mapping[str, Any], fabric: Fabric) -> list[str]:
    problems = []
    if values["source"] == values["target"]:
        problems.append(f"it goes from {values['source']} to itself")
    version = values.get("version", 4)
    if version not in (4, 6):
        problems.append(f"`version` is {version}, not 4 or 6")
    else:
        for nic in (values["source"], values["target"]):
            if all(address.version != version for address in fabric.nic_by_id[nic].addresses):
                problems.append(f"NIC {nic} has no IPv{version} address")
    for key, least, most in _LIMITS:
        value = values.get(key)
        if value is not None and not least <= value <= most:
            problems.append(f"`{key}` is {value}, which goes from {least} to {most}")
    if not values.get("weight", 1.0) > 0:
        problems.append(f"`weight` is {values['weight']}, and must be above 0")
    return problems
