"""Reads files of intents; every mistake has its place, also those that only the controller sees.

    intents:
      - name: train-a            # tenants/default/intents/train-a
        labels: {team: research}
        connectivity: {endpoints: {hosts: [h1, h2]}}

YAML is read as nodes, not as values: each scalar stays the text it is (``1e3`` and ``on`` are fine
names), and each knows its line. JSON is YAML enough.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import yaml

from controller.intents.selectors import did_you_mean
from heald import connectivity
from heald.v1 import intents_pb2 as pb

Place = tuple[int, int]
_LISTS = ("hosts", "nics", "accelerators")


@dataclass(frozen=True, slots=True, order=True)
class Mistake:
    """Printed as ``FILE:line:column: what, and the cure``."""

    file: str
    place: Place
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.place[0]}:{self.place[1]}: {self.text}"


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
    file = IntentFile(name)
    try:
        root = yaml.compose(content, yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        file.mistakes.append(Mistake(name, place, f"no valid YAML: {error.problem}"))
    except (yaml.YAMLError, ValueError) as error:
        text = " ".join(str(error).split())
        file.mistakes.append(Mistake(name, (1, 1), f"no text in UTF-8: {text}"))
    except RecursionError:
        file.mistakes.append(Mistake(name, (1, 1), "nested too deeply for a file of intents"))
    else:
        _Reader(file).document(root)
    return file


class _Reader:
    def __init__(self, file: IntentFile) -> None:
        self._file = file

    def document(self, root: yaml.Node | None) -> None:
        if root is None:
            self._mistake((1, 1), "is empty; it needs a list `intents`")
            return
        keys = self._mapping(root, "the file", ("intents",))
        if "intents" not in keys:
            if isinstance(root, yaml.MappingNode):
                self._mistake(_place(root), "has no list `intents`")
            return
        for i, node in enumerate(self._sequence(keys["intents"], "`intents`")):
            self._intent(node, f"[{i}]")

    def _intent(self, node: yaml.Node, path: str) -> None:
        self._file.places[path] = _place(node)
        mistakes = len(self._file.mistakes)
        keys = self._mapping(node, "an intent", ("name", "labels", "connectivity", "etag"))
        for key, field_path in (("name", "name"), ("etag", "etag")):
            if key in keys:
                self._file.places[f"{path}.{field_path}"] = _place(keys[key])
        # A key that is spelled wrong is not missed as well.
        if len(self._file.mistakes) == mistakes:
            for key in ("name", "connectivity"):
                if key not in keys:
                    self._mistake(_place(node), f"the intent has no `{key}`; add it")
        name = self._text(keys.get("name"), "`name`")
        labels = self._labels(keys.get("labels"), "`labels`", f"{path}.labels")
        spec = f"{path}.spec.connectivity"
        chosen: Mapping[str, yaml.Node] = {}
        if "connectivity" in keys:
            self._file.places[f"{path}.spec"] = _place(keys["connectivity"])
            outer = self._mapping(keys["connectivity"], "`connectivity`", ("endpoints",))
            if "endpoints" in outer:
                self._file.places[f"{spec}.endpoints"] = _place(outer["endpoints"])
                known = ("all", *_LISTS, "labels")
                chosen = self._mapping(outer["endpoints"], "`endpoints`", known)
            elif isinstance(keys["connectivity"], yaml.MappingNode):
                self._mistake(_place(keys["connectivity"]), "`connectivity` has no `endpoints`")
        lists = {
            key: self._names(chosen.get(key), f"`{key}`", f"{spec}.endpoints.{key}")
            for key in _LISTS
        }
        intent = connectivity(
            name,
            all=self._flag(chosen.get("all"), "`all`"),
            hosts=lists["hosts"],
            nics=lists["nics"],
            accelerators=lists["accelerators"],
            match_labels=self._labels(
                chosen.get("labels"), "`labels`", f"{spec}.endpoints.match_labels"
            ),
            labels=labels,
        )
        intent.etag = self._text(keys.get("etag"), "`etag`")
        self._file.intents.append(intent)

    def _mapping(
        self, node: yaml.Node, what: str, known: tuple[str, ...]
    ) -> Mapping[str, yaml.Node]:
        found: dict[str, yaml.Node] = {}
        for key, value in self._pairs(node, what):
            if key.value in found:
                self._mistake(_place(key), f"`{key.value}` is here twice; keep one")
            elif key.value not in known:
                hint = did_you_mean(key.value, known)
                self._mistake(_place(key), f"{what} has no key {key.value!r}{hint}")
            else:
                found[key.value] = value
        return found

    def _labels(self, node: yaml.Node | None, what: str, path: str) -> dict[str, str]:
        if node is None:
            return {}
        self._file.places[path] = _place(node)
        found: dict[str, str] = {}
        for key, value in self._pairs(node, what):
            if key.value in found:
                self._mistake(_place(key), f"the label `{key.value}` is here twice; keep one")
            found[key.value] = self._text(value, f"the label `{key.value}`")
            self._file.places[f"{path}[{key.value}]"] = _place(key)
        return found

    def _pairs(self, node: yaml.Node, what: str) -> list[tuple[yaml.ScalarNode, yaml.Node]]:
        if not isinstance(node, yaml.MappingNode):
            self._mistake(_place(node), f"{what} must be keys with values, not {_kind(node)}")
            return []
        pairs = []
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                pairs.append((key, value))
            else:
                self._mistake(_place(key), f"a key of {what} must be a word, not {_kind(key)}")
        return pairs

    def _sequence(self, node: yaml.Node, what: str) -> list[yaml.Node]:
        if not isinstance(node, yaml.SequenceNode):
            self._mistake(_place(node), f"{what} must be a list, not {_kind(node)}")
            return []
        return list(node.value)

    def _names(self, node: yaml.Node | None, what: str, path: str) -> list[str]:
        if node is None:
            return []
        self._file.places[path] = _place(node)
        names = []
        for i, item in enumerate(self._sequence(node, what)):
            self._file.places[f"{path}[{i}]"] = _place(item)
            names.append(self._text(item, f"a name in {what}"))
        return names

    def _text(self, node: yaml.Node | None, what: str) -> str:
        if node is None:
            return ""
        if not isinstance(node, yaml.ScalarNode) or node.tag.endswith(":null"):
            self._mistake(_place(node), f"{what} must be a word, not {_kind(node)}")
            return ""
        text = str(node.value)
        if any("\ud800" <= letter <= "\udfff" for letter in text):
            self._mistake(_place(node), f"{what} has half a letter (a surrogate); write it whole")
            return ""
        return text

    def _flag(self, node: yaml.Node | None, what: str) -> bool:
        if node is None:
            return False
        if not isinstance(node, yaml.ScalarNode) or node.value not in ("true", "false"):
            self._mistake(_place(node), f"{what} must be true or false, not {_kind(node)}")
            return False
        return bool(node.value == "true")

    def _mistake(self, place: Place, text: str) -> None:
        self._file.mistakes.append(Mistake(self._file.name, place, text))


def _place(node: yaml.Node) -> Place:
    return node.start_mark.line + 1, node.start_mark.column + 1


def _kind(node: yaml.Node) -> str:
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    if isinstance(node, yaml.MappingNode):
        return "keys with values"
    return "nothing" if node.tag.endswith(":null") else f"{node.value[:40]!r}"
