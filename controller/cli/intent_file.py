"""Reads files of intents; every mistake has its place, also those that only the controller sees.

    intents:
      - name: train-a            # tenants/default/intents/train-a
        labels: {team: research}
        connectivity: {endpoints: {hosts: [h1, h2]}}
      - name: ckpt
        point_to_point: {source: {hosts: [h1]}, destination: {nics: [h8/eth0]}, rate: 40G}

JSON is YAML enough.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import yaml

from controller.cli.nodes import Mistake, Nodes, Place, place_of
from controller.fabric import quantities
from heald import intent_name
from heald.v1 import intents_pb2 as pb

_KINDS = ("connectivity", "point_to_point")
_LISTS = ("hosts", "nics", "accelerators")
# Keys of a point-to-point intent whose fields have other names.
_FIELDS = {"rate": "rate_bps", "class": "traffic_class", "max_latency": "max_latency_s"}
_POINT_TO_POINT = (
    "source",
    "destination",
    *_FIELDS,
    "include",
    "avoid",
    "protection",
    "bidirectional",
    "udp_source_ports",
    "priority",
    "on_shortage",
)
_PROTECTION = ("none", "link", "node", "srlg")
_ON_SHORTAGE = ("reject", "degrade")


@dataclass
class IntentFile:
    """``places`` maps the fields of the API to where they stand: ``[0].spec.connectivity…``."""

    name: str
    intents: list[pb.Intent] = field(default_factory=list)
    places: dict[str, Place] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)

    def place_of(self, path: str) -> Place:
        """Of the field, or of the nearest that it is a part of and that the file has."""
        while path and path not in self.places:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return self.places.get(path, (1, 1))


def read(name: str, content: bytes) -> IntentFile:
    """Never raises, whatever the bytes; see ``mistakes``."""
    reader = _Reader(name)
    reader.document(content)
    return IntentFile(name, reader.intents, reader.places, reader.mistakes)


@dataclass
class _Reader(Nodes):
    intents: list[pb.Intent] = field(default_factory=list)

    def document(self, content: bytes) -> None:
        root = self.compose(content, "a file of intents")
        if root is None:
            if not self.mistakes:
                self.mistake((1, 1), "is empty; it needs a list `intents`")
            return
        keys = self.mapping(root, "the file", ("intents",))
        if "intents" not in keys:
            if isinstance(root, yaml.MappingNode):
                self.mistake(place_of(root), "has no list `intents`")
            return
        for i, node in enumerate(self.sequence(keys["intents"], "`intents`")):
            self._intent(node, f"[{i}]")

    def _intent(self, node: yaml.Node, path: str) -> None:
        self.places[path] = place_of(node)
        mistakes = len(self.mistakes)
        keys = self.mapping(node, "an intent", ("name", "labels", *_KINDS, "etag"))
        for key in ("name", "etag"):
            if key in keys:
                self.places[f"{path}.{key}"] = place_of(keys[key])
        kinds = [kind for kind in _KINDS if kind in keys]
        # A key that is spelled wrong is not missed as well.
        if len(self.mistakes) == mistakes:
            if "name" not in keys:
                self.mistake(place_of(node), "the intent has no `name`; add it")
            if not kinds:
                choices = " or ".join(f"`{kind}`" for kind in _KINDS)
                self.mistake(place_of(node), f"the intent has no {choices}; add one")
        for kind in kinds[1:]:
            text = f"the intent has `{kinds[0]}`, too; make two intents of it"
            self.mistake(place_of(keys[kind]), text)
        intent = pb.Intent(
            name=intent_name(self.text(keys.get("name"), "`name`")),
            labels=self.labels(keys.get("labels"), "`labels`", f"{path}.labels"),
            etag=self.text(keys.get("etag"), "`etag`"),
        )
        for kind in kinds[:1]:
            self.places[f"{path}.spec"] = place_of(keys[kind])
            self.places[f"{path}.spec.{kind}"] = place_of(keys[kind])
            if kind == "connectivity":
                asked = self._connectivity(keys[kind], f"{path}.spec.connectivity")
                intent.spec.connectivity.CopyFrom(asked)
            else:
                pinned = self._point_to_point(keys[kind], f"{path}.spec.point_to_point")
                intent.spec.point_to_point.CopyFrom(pinned)
        self.intents.append(intent)

    def _connectivity(self, node: yaml.Node, path: str) -> pb.Connectivity:
        keys = self.mapping(node, "`connectivity`", ("endpoints",))
        self._require(node, "`connectivity`", keys, "endpoints")
        return pb.Connectivity(endpoints=self._selector(keys, "endpoints", path))

    def _point_to_point(self, node: yaml.Node, path: str) -> pb.PointToPoint:
        keys = self.mapping(node, "`point_to_point`", _POINT_TO_POINT)
        for key, value in keys.items():
            self.places[f"{path}.{_FIELDS.get(key, key)}"] = place_of(value)
        self._require(node, "`point_to_point`", keys, "source", "destination")
        ports = []
        if "udp_source_ports" in keys:
            for i, item in enumerate(self.sequence(keys["udp_source_ports"], "`udp_source_ports`")):
                self.places[f"{path}.udp_source_ports[{i}]"] = place_of(item)
                ports.append(self.quantity(item, _udp_port, 1))
        return pb.PointToPoint(
            source=self._selector(keys, "source", path),
            destination=self._selector(keys, "destination", path),
            rate_bps=self.quantity(keys.get("rate"), quantities.rate_bps, 0.0),
            traffic_class=self.text(keys.get("class"), "`class`"),
            max_latency_s=self.quantity(keys.get("max_latency"), _latency_s, 0.0),
            include=self.names(keys.get("include"), "`include`", f"{path}.include"),
            avoid=self.names(keys.get("avoid"), "`avoid`", f"{path}.avoid"),
            protection=self.choice(keys.get("protection"), "`protection`", _PROTECTION).upper(),
            bidirectional=self.flag(keys.get("bidirectional"), "`bidirectional`"),
            udp_source_ports=ports,
            priority=self.quantity(keys.get("priority"), _priority, 0),
            on_shortage=self.choice(keys.get("on_shortage"), "`on_shortage`", _ON_SHORTAGE).upper(),
        )

    def _selector(self, keys: Mapping[str, yaml.Node], key: str, path: str) -> pb.Selector:
        if key not in keys:
            return pb.Selector()
        path = f"{path}.{key}"
        self.places[path] = place_of(keys[key])
        chosen = self.mapping(keys[key], f"`{key}`", ("all", *_LISTS, "labels"))
        lists = {
            name: self.names(chosen.get(name), f"`{name}`", f"{path}.{name}") for name in _LISTS
        }
        return pb.Selector(
            all=self.flag(chosen.get("all"), "`all`"),
            hosts=lists["hosts"],
            nics=lists["nics"],
            accelerators=lists["accelerators"],
            match_labels=self.labels(chosen.get("labels"), "`labels`", f"{path}.match_labels"),
        )

    def _require(
        self, node: yaml.Node, what: str, keys: Mapping[str, yaml.Node], *needed: str
    ) -> None:
        for key in needed:
            if key not in keys and isinstance(node, yaml.MappingNode):
                self.mistake(place_of(node), f"{what} has no `{key}`")


def _latency_s(value: object) -> float:
    found = quantities.time_s(value)
    if not found:
        raise ValueError("no path takes 0 s; give a longer time, or delete the key for any")
    return found


def _udp_port(value: object) -> int:
    return quantities.number(value, 1, 0xFFFF, "UDP port")


def _priority(value: object) -> int:
    return quantities.number(value, -(1 << 31), (1 << 31) - 1, "priority")
