"""Which NICs a selector chooses on a fabric."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from controller.fabric.model import Fabric, Nic
from controller.intents.model import Selector


@dataclass(frozen=True, slots=True)
class Problem:
    """``path`` is the field within the selector, such as ``hosts[2]`` or ``match_labels[team]``."""

    path: str
    message: str


@dataclass(frozen=True, slots=True)
class Selection:
    """``nics`` (``host/nic``) are those chosen in spite of ``problems``."""

    nics: frozenset[str]
    problems: tuple[Problem, ...] = ()


HINTS = 5
"""How many mistakes get a suggestion: finding what is near takes a while in a large fabric."""


def resolve(selector: Selector, fabric: Fabric, hints: int = HINTS) -> Selection:
    """The NICs that ``selector`` chooses; each name or label that chooses none is a problem.

    The first ``hints`` problems suggest what may have been meant.
    """
    chosen: set[str] = set()
    problems: list[Problem] = []
    known: Collection[str]

    if selector.all:
        chosen.update(fabric.nic_by_id)

    for i, name in enumerate(selector.hosts):
        host = fabric.host_by_name.get(name)
        if host is None:
            known = fabric.host_by_name if len(problems) < hints else ()
            problems.append(_unknown(f"hosts[{i}]", "host", name, known, fabric))
        else:
            chosen.update(nic.id for nic in host.nics)

    for i, name in enumerate(selector.nics):
        if name in fabric.nic_by_id:
            chosen.add(name)
        else:
            known = fabric.nic_by_id if len(problems) < hints else ()
            problems.append(_unknown(f"nics[{i}]", "NIC", name, known, fabric))

    if selector.accelerators:
        nic_of = _nic_by_accelerator(fabric)
        for i, name in enumerate(selector.accelerators):
            if name in nic_of:
                chosen.add(nic_of[name])
            else:
                known = nic_of if len(problems) < hints else ()
                path = f"accelerators[{i}]"
                problems.append(_unknown(path, "accelerator", name, known, fabric))

    if selector.match_labels:
        labelled = {nic.id for nic in _labelled(selector.match_labels, fabric)}
        chosen |= labelled
        if not labelled:
            problems.append(_unmatched(selector.match_labels, fabric))

    return Selection(frozenset(chosen), tuple(problems))


def did_you_mean(name: str, known: Collection[str]) -> str:
    """``"; did you mean 'h1'?"``, or the few names that exist, or nothing when nothing is near."""
    near = get_close_matches(name, known, n=1, cutoff=0.6)
    if near:
        return f"; did you mean {near[0]!r}?"
    if 0 < len(known) <= 8:
        return f"; there are {', '.join(sorted(known))}"
    return ""


def _labelled(match_labels: Mapping[str, str], fabric: Fabric) -> Iterator[Nic]:
    for host in fabric.hosts:
        if all(host.labels.get(key) == value for key, value in match_labels.items()):
            yield from host.nics


def _nic_by_accelerator(fabric: Fabric) -> dict[str, str]:
    return {
        accelerator.id: f"{host.name}/{accelerator.nic}"
        for host in fabric.hosts
        for accelerator in host.accelerators
    }


def _unmatched(match_labels: Mapping[str, str], fabric: Fabric) -> Problem:
    """Names the first label that no host carries, or says that none carries all of them at once."""
    for key, value in match_labels.items():
        values = {host.labels[key] for host in fabric.hosts if key in host.labels}
        if not values:
            hint = did_you_mean(key, {k for host in fabric.hosts for k in host.labels})
            message = f"no host of fabric {fabric.name!r} has a label {key!r}{hint}"
            return Problem(f"match_labels[{key}]", message)
        if value not in values:
            message = f"no host of fabric {fabric.name!r} has the label {key}={value}"
            return Problem(f"match_labels[{key}]", message + did_you_mean(value, values))
    message = f"no host of fabric {fabric.name!r} has all of these labels at once"
    return Problem("match_labels", message)


def _unknown(path: str, kind: str, name: str, known: Iterable[str], fabric: Fabric) -> Problem:
    hint = did_you_mean(name, list(known))
    return Problem(path, f"fabric {fabric.name!r} has no {kind} {name!r}{hint}")
