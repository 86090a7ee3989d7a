"""What an edit changes: two fabrics compared, element by element and field by field.

Files that differ in order, comments and layout give equal fabrics, and so no difference at all.
A switch keeps its identity by its datapath id, so that a new name is a renaming and not another
switch; a link keeps it by its name or by its two ends. Everything else is known by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias, TypeVar

from controller.fabric.build import natural
from controller.fabric.check import mac_text
from controller.fabric.model import (
    Accelerator,
    Fabric,
    Host,
    Link,
    Nic,
    PortRef,
    Switch,
    TrafficClass,
)
from controller.fabric.quantities import rate_text, time_text

T = TypeVar("T")
Values: TypeAlias = Mapping[str, str]
"""Field, by its key in the topology file, to what it is, in words; "" where there is nothing."""

COSMETIC = frozenset({"role", "pod", "site", "medium", "rail", "plane", "kind", "model", "domain"})
"""Fields that neither plans nor rules depend on."""


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
        *_compared("fabric", {after.name: before}, {after.name: after}, _of_fabric),
        *_compared("class", _classes(before), _classes(after), _of_class),
        *_compared(
            "switch",
            {_now(s.name, names): s for s in before.switches},
            {s.name: s for s in after.switches},
            _of_switch,
            {new: name for name, new in names.items() if new != name},
        ),
        *_compared("host", old.host_by_name, after.host_by_name, _of_host),
        *_compared("NIC", old.nic_by_id, after.nic_by_id, _of_nic),
        *_compared("accelerator", *_accelerators(old, after), _of_accelerator),
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
        fields = _fields(
            {} if old is None else words(old),
            {} if new is None else words(new),
        )
        if old is None or new is None:
            yield Change(Kind.ADDED if old is None else Kind.REMOVED, element, name, fields)
        elif name in was:
            yield Change(Kind.RENAMED, element, name, fields, was[name])
        elif fields:
            yield Change(Kind.CHANGED, element, name, fields)


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
        _of_link,
        was,
    )


# ---- what elements are, in words ---------------------------------------------------------------


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _of_fabric(fabric: Fabric) -> Values:
    return {
        "fabric": fabric.name,
        "gateway mac": mac_text(fabric.gateway_mac),
        "gateway ipv4": str(fabric.gateway_ipv4),
        "gateway ipv6": str(fabric.gateway_ipv6),
    }


def _classes(fabric: Fabric) -> Mapping[str, TrafficClass]:
    return {each.name: each for each in fabric.classes}


def _of_class(each: TrafficClass) -> Values:
    return {"dscp": _text(each.dscp), "queue": str(each.queue)}


def _of_switch(switch: Switch) -> Values:
    return {
        "dpid": f"{switch.dpid:#x}",
        "role": switch.role,
        "pod": _text(switch.pod),
        "site": _text(switch.site),
        "limit of flows": _text(switch.flow_limit),
        "limit of groups": _text(switch.group_limit),
        "ovsdb": _text(switch.ovsdb),
    }


def _of_host(host: Host) -> Values:
    return {f"label {key}": value for key, value in host.labels.items()}


def _of_nic(nic: Nic) -> Values:
    return {
        "attach": ", ".join(map(str, nic.attachments)),
        "capacity": rate_text(nic.capacity_bps),
        "mac": mac_text(nic.mac),
        "ips": ", ".join(map(str, nic.addresses)),
        "rail": _text(nic.rail),
        "plane": _text(nic.plane),
    }


def _accelerators(before: Fabric, after: Fabric) -> Iterator[Mapping[str, Accelerator]]:
    """Those of hosts that both have: of others, the NICs say enough."""
    for fabric, other in ((before, after), (after, before)):
        yield {
            each.id: each
            for host in fabric.hosts
            if host.name in other.host_by_name
            for each in host.accelerators
        }


def _of_accelerator(each: Accelerator) -> Values:
    return {
        "nic": each.nic,
        "kind": each.kind,
        "model": _text(each.model),
        "domain": _text(each.domain),
    }


def _of_link(link: Link) -> Values:
    return {
        "ends": f"{link.a} – {link.b}",
        "capacity": rate_text(link.capacity_bps),
        "latency": time_text(link.latency_s),
        "srlgs": ", ".join(link.srlgs),
        "medium": _text(link.medium),
        "bfd": f"{link.bfd.interval_ms} ms × {link.bfd.multiplier}" if link.bfd else "",
    }


def _plural(element: str) -> str:
    return element + ("es" if element.endswith(("ch", "ss")) else "s")
