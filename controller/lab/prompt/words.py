"""The words of a command: names of the fabric, ranges of them, rates, sizes, times, options.

Everything here raises LabError, which says what is wrong with which word, and what to write.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from controller.fabric import quantities
from controller.fabric.model import Fabric, Nic, PortRef
from controller.intents.selectors import did_you_mean
from controller.lab.errors import LabError

ALL = "all"
_RANGE = re.compile(r"(.*?)(\d+)\.\.(.*?)(\d+)")
_QUANTITY = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)([A-Za-z]*)")
_SIZES = {
    "B": 1,
    **{f"{unit}B": 1000**power for power, unit in enumerate("KMGT", 1)},
    **{f"{unit}iB": 1024**power for power, unit in enumerate("KMGT", 1)},
}
_SECONDS = {"": Decimal(1), "s": Decimal(1), "ms": Decimal("0.001"), "m": Decimal(60)}
_LONGEST_S = 3600


def options(
    words: Sequence[str], known: Mapping[str, Callable[[str], Any]]
) -> tuple[list[str], dict[str, Any]]:
    """The words that are no KEY=VALUE, and the values by key, read by what ``known`` has for it."""
    plain, values = [], {}
    for word in words:
        key, equals, text = word.partition("=")
        if not equals:
            plain.append(word)
        elif key not in known:
            raise LabError(f"there is no option {key!r} here{did_you_mean(key, known)}")
        else:
            values[key] = known[key](text)
    return plain, values


def one_of(name: str, known: Collection[str], kind: str) -> str:
    if name not in known:
        raise LabError(f"there is no {kind} {name!r}{did_you_mean(name, known)}")
    return name


def whole(least: int, most: int) -> Callable[[str], int]:
    """Reads a whole number in these limits."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
            raise LabError(f"{text!r} is no whole number from {least} to {most}")
        return int(text)

    return read


def rate_bps(text: str) -> float:
    """``20M`` and the like."""
    try:
        return quantities.rate_bps(text)
    except ValueError as error:
        raise LabError(str(error)) from None


def size_bytes(text: str) -> int:
    """``10MB``, ``64KiB``: at least one byte."""
    match = _QUANTITY.fullmatch(text)
    unit = _SIZES.get(match[2]) if match else None
    if match is None or unit is None or (size := int(Decimal(match[1]) * unit)) < 1:
        raise LabError(f"{text!r} is no size: write bytes with KB, MB, GB or KiB, MiB, like 10MB")
    return size


def seconds(text: str) -> float:
    """``10``, ``500ms``, ``2m``: above 0, at most an hour."""
    match = _QUANTITY.fullmatch(text)
    unit = _SECONDS.get(match[2]) if match else None
    if match is None or unit is None or not 0 < (found := Decimal(match[1]) * unit) <= _LONGEST_S:
        raise LabError(f"{text!r} is no time: write seconds, or with ms or m, like 10 or 500ms")
    return float(found)


def names(words: Sequence[str]) -> Iterator[str]:
    """Each word, with ``h1..h8`` (and ``h1..h8/rail0``) spelled out, in the order given."""
    for word in words:
        span, slash, rest = word.partition("/")
        match = _RANGE.fullmatch(span)
        if match is None:
            yield word
            continue
        prefix, first, again, last = match.groups()
        if again not in ("", prefix) or int(first) > int(last) or int(last) - int(first) > 4096:
            raise LabError(f"{word!r} is no range of names: write it like h1..h8")
        width = len(first) if first.startswith("0") else 0
        for number in range(int(first), int(last) + 1):
            yield f"{prefix}{number:0{width}}{slash}{rest}"


def hosts(fabric: Fabric, words: Sequence[str]) -> list[str]:
    """Of ``h1..h4 h7``, or ``all``."""
    if list(words) == [ALL]:
        return [host.name for host in fabric.hosts]
    return [one_of(name, fabric.host_by_name, "host") for name in names(words)]


def nic(fabric: Fabric, word: str) -> Nic:
    """A NIC (``h1/rail0``), or the first of a host (``h1``)."""
    found = fabric.nic_by_id.get(word)
    if found is not None:
        return found
    host = fabric.host_by_name.get(word.partition("/")[0])
    if host is None or not host.nics:
        kind = "host" if "/" not in word else "NIC"
        known = [*fabric.host_by_name] if "/" not in word else [*fabric.nic_by_id]
        raise LabError(f"there is no {kind} {word!r}{did_you_mean(word, known)}")
    if "/" in word:
        raise LabError(f"host {host.name} has no NIC {word!r}; it has {_ids(host.nics)}")
    return host.nics[0]


def rails(fabric: Fabric, words: Sequence[str]) -> list[list[Nic]]:
    """The NICs that ``words`` name, in their order; with ``h1..h8/*`` a list for each name that
    the NICs of these hosts have, which is one for each rail."""
    spelled = [host.name for host in fabric.hosts] if list(words) == [ALL] else list(names(words))
    starred = [word for word in spelled if word.endswith("/*")]
    if not starred:
        return [[nic(fabric, word) for word in spelled]]
    if len(starred) != len(spelled):
        raise LabError("write HOST/* for all of the hosts, or for none of them")
    found = [fabric.host_by_name[one_of(w[:-2], fabric.host_by_name, "host")] for w in starred]
    rail_names = [each.name for each in found[0].nics]
    for host in found:
        if [each.name for each in host.nics] != rail_names:
            raise LabError(
                f"{found[0].name} and {host.name} have NICs of different names: "
                f"{_ids(found[0].nics)} and {_ids(host.nics)}"
            )
    return [[host.nics[i] for host in found] for i in range(len(rail_names))]


def cables(fabric: Fabric, words: Sequence[str]) -> list[str]:
    """The one of this name (a link, or the NIC at its end), or all between two switches or hosts.
    The second cable of a NIC is ``h1/eth0#1``."""
    ends = cable_ends(fabric)
    if len(words) == 1:
        return [one_of(words[0], ends, "link or NIC")]
    nodes = [*fabric.switch_by_name, *fabric.host_by_name]
    for word in words:
        one_of(word, nodes, "switch or host")
    found = [name for name, places in ends.items() if places == frozenset(words)]
    if not found:
        raise LabError(f"no cable joins {' and '.join(words)}; `links` shows all")
    return found


def cable_ends(fabric: Fabric) -> dict[str, frozenset[str]]:
    """Of each cable the switches and hosts that it joins."""
    found = {link.name: frozenset((link.a.switch, link.b.switch)) for link in fabric.links}
    for each in fabric.nics:
        for i, port in enumerate(each.attachments):
            found[f"{each.id}#{i}" if i else each.id] = frozenset((each.host, port.switch))
    return found


def port(fabric: Fabric, word: str) -> PortRef:
    """A port that a cable of the topology ends at."""
    known = [p for link in fabric.links for p in (link.a, link.b)]
    known += [p for each in fabric.nics for p in each.attachments]
    by_name = {str(p): p for p in known}
    return by_name[one_of(word, by_name, "cable at a port")]


def _ids(nics: Sequence[Nic]) -> str:
    return ", ".join(each.id for each in nics)
