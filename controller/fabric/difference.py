"""What an edit changes: two fabrics compared, element by element and field by field.

Files that differ in order, comments and layout give equal fabrics, and so no difference at all.
A switch keeps its identity by its datapath id, so that a new name is a renaming and not another
switch; a link keeps it by its name or by its two ends. Everything else is known by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeVar

from controller.fabric import fields
from controller.fabric.build import natural
from controller.fabric.fields import COSMETIC, Values
from controller.fabric.model import (
    Accelerator,
    Fabric,
    Link,
    Nic,
    PortRef,
    TrafficClass,
)

T = TypeVar("T")


class Kind(Enum):
    ADDED = "added"
    REMOVED = "removed"
    RENAMED = "renamed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One of ``before`` and ``after`` may be empty: there is nothing then."""

    field: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.field} {self.before or 'none'} → {self.after or 'none'}"


@dataclass(frozen=True, slots=True)
class Change:
    """``element``: "switch", "link", "host", "NIC", "accelerator", "class" or "fabric".

    ``was`` is the former name of what is renamed. ``fields`` has all of an element that is new or
    gone, else those that differ.
    """

    kind: Kind
    element: str
    name: str
    fields: tuple[FieldChange, ...] = ()
    was: str = ""

    @property
    def is_cosmetic(self) -> bool:
        """Plans and rules stay as they are."""
        return self.kind is Kind.CHANGED and all(f.field in COSMETIC for f in self.fields)

    @property
    def details(self) -> str:
        """The fields in words."""
        if self.kind is Kind.ADDED:
            return ", ".join(f"{f.field} {f.after}" for f in self.fields if f.after)
        if self.kind is Kind.REMOVED:
            return ", ".join(f"{f.field} {f.before}" for f in self.fields if f.before)
        return ", ".join(map(str, self.fields))

    def __str__(self) -> str:
        name = f"{self.was} → {self.name}" if self.was else self.name
        said = f"{self.element} {name} {self.kind.value}"
        return f"{said}: {self.details}" if self.details else said


@dataclass(frozen=True, slots=True)
class Difference:
    """In the order of the file's sections, names in their natural order."""

    changes: tuple[Change, ...]

    def __bool__(self) -> bool:
        return bool(self.changes)

    @property
    def is_cosmetic(self) -> bool:
        return all(change.is_cosmetic for change in self.changes)

    @property
    def renamed_switches(self) -> Mapping[str, str]:
        """Former name to new name."""
        return {
            c.was: c.name for c in self.changes if c.element == "switch" and c.kind is Kind.RENAMED
        }

    def summary(self) -> str:
        """One line: ``2 links added, switch leaf1 → rack7 renamed``."""
        counts: dict[tuple[str, Kind], list[Change]] = {}
        for change in self.changes:
            counts.setdefault((change.element, change.kind), []).append(change)
        said = []
        for (element, kind), found in counts.items():
            one = found[0]
            if len(found) > 1:
                said.append(f"{len(found)} {_plural(element)} {kind.value}")
            elif kind is Kind.CHANGED:
                said.append(str(one))
            else:
                said.append(str(replace(one, fields=())))
        return ", ".join(said) or "nothing differs"


def difference(before: Fabric, after: Fabric) -> Difference:
    """What an edit from ``before`` to ``after`` changes. Versions and places in files are none of
    it."""
    if before == after:
        return Difference(())
    names = _same_switches(before, after)
    old = _with_names(before, names)
    found = [
        *_compared("fabric", {after.name: before}, {after.name: after}, fields.of_fabric),
        *_compared("class", _classes(before), _classes(after), fields.of_class),
        *_compared(
            "switch",
            {_now(s.name, names): s for s in before.switches},
            {s.name: s for s in after.switches},
            fields.of_switch,
            {new: name for name, new in names.items() if new != name},
        ),
        *_compared("host", old.host_by_name, after.host_by_name, fields.of_host),
        *_compared("NIC", old.nic_by_id, after.nic_by_id, fields.of_nic),
        *_compared(
            "accelerator",
            _accelerators(old, after),
            _accelerators(after, old),
            fields.of_accelerator,
        ),
        *_links(old, after),
    ]
    return Difference(tuple(found))


def _compared(
    element: str,
    before: Mapping[str, T],
    after: Mapping[str, T],
    words: Callable[[T], Values],
    was: Mapping[str, str] | None = None,
) -> Iterator[Change]:
    """Elements by their new names; ``was`` has the former name where that was another. Words are
    found for what differs alone: of thousands of elements few do."""
    was = was or {}
    touched = [n for n in before.keys() | after.keys() if n in was or before.get(n) != after.get(n)]
    for name in sorted(touched, key=natural):
        old, new = before.get(name), after.get(name)
        found = _fields(
            {} if old is None else words(old),
            {} if new is None else words(new),
        )
        if old is None or new is None:
            yield Change(Kind.ADDED if old is None else Kind.REMOVED, element, name, found)
        elif name in was:
            yield Change(Kind.RENAMED, element, name, found, was[name])
        elif found:
            yield Change(Kind.CHANGED, element, name, found)


def _fields(before: Values, after: Values) -> tuple[FieldChange, ...]:
    return tuple(
        FieldChange(key, before.get(key, ""), after.get(key, ""))
        for key in dict.fromkeys([*before, *after])
        if before.get(key, "") != after.get(key, "")
    )


def _same_switches(before: Fabric, after: Fabric) -> Mapping[str, str]:
    """Old name to new name of every switch that both have: the same datapath, or else the same
    name with another datapath id."""
    found = {
        s.name: after.switch_by_dpid[s.dpid].name
        for s in before.switches
        if s.dpid in after.switch_by_dpid
    }
    kept = set(found.values())
    for switch in before.switches:
        name = switch.name
        if name not in found and name in after.switch_by_name and name not in kept:
            found[name] = name
    return found


def _now(name: str, names: Mapping[str, str]) -> str:
    """What a switch of before is called; one that is gone may have left its name to another."""
    found = names.get(name)
    if found is None:
        return f"{name} (gone)" if name in names.values() else name
    return found


def _with_names(fabric: Fabric, names: Mapping[str, str]) -> Fabric:
    """The fabric with the new names of its switches in every port and derived name."""
    if all(names.get(s.name, s.name) == s.name for s in fabric.switches):
        return fabric
    now = {s.name: _now(s.name, names) for s in fabric.switches}

    def port(ref: PortRef) -> PortRef:
        return PortRef(now[ref.switch], ref.port)

    def link(old: Link) -> Link:
        a, b = sorted([port(old.a), port(old.b)])
        derived = old.name == f"{old.a}-{old.b}"
        return replace(old, a=a, b=b, name=f"{a}-{b}" if derived else old.name)

    def nic(old: Nic) -> Nic:
        return replace(old, attachments=tuple(sorted(map(port, old.attachments))))

    hosts = (replace(host, nics=tuple(map(nic, host.nics))) for host in fabric.hosts)
    return replace(fabric, hosts=tuple(hosts), links=tuple(map(link, fabric.links)))


def _links(before: Fabric, after: Fabric) -> Iterator[Change]:
    """A link that has no namesake may have the ends of another: then it was renamed."""
    old, new = ({link.name: link for link in fabric.links} for fabric in (before, after))
    by_ends = {(link.a, link.b): name for name, link in old.items() if name not in new}
    was = {
        name: by_ends[link.a, link.b]
        for name, link in new.items()
        if name not in old and (link.a, link.b) in by_ends
    }
    now = {former: name for name, former in was.items()}
    return _compared(
        "link",
        {now.get(name, name): link for name, link in old.items()},
        new,
        fields.of_link,
        was,
    )


def _classes(fabric: Fabric) -> Mapping[str, TrafficClass]:
    return {each.name: each for each in fabric.classes}


def _accelerators(fabric: Fabric, other: Fabric) -> Mapping[str, Accelerator]:
    """Those of hosts that ``other`` has, too: of others, the NICs say enough."""
    return {
        each.id: each
        for host in fabric.hosts
        if host.name in other.host_by_name
        for each in host.accelerators
    }


def _plural(element: str) -> str:
    return element + ("es" if element.endswith(("ch", "ss")) else "s")
