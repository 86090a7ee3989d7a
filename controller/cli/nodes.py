"""YAML as nodes, not as values: each scalar stays the text it is (``1e3`` and ``on`` are fine
names), each knows its line, and what is wrong with it is noted instead of raised."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import yaml

from controller.intents.selectors import did_you_mean

Place = tuple[int, int]
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, order=True)
class Mistake:
    """Printed as ``FILE:line:column: what, and the cure``."""

    file: str
    place: Place
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.place[0]}:{self.place[1]}: {self.text}"


@dataclass
class Nodes:
    """Reads the nodes of the file ``name``. ``places`` maps names of one's choice to where they
    stand; every reader gives something harmless in place of a mistake."""

    name: str
    places: dict[str, Place] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)

    def compose(self, content: bytes, what: str) -> yaml.Node | None:
        """The root; None for an empty file, and after a mistake."""
        try:
            root: yaml.Node | None = yaml.compose(content, yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            place = (mark.line + 1, mark.column + 1) if mark else (1, 1)
            self.mistake(place, f"no valid YAML: {error.problem}")
        except (yaml.YAMLError, ValueError) as error:
            self.mistake((1, 1), f"no text in UTF-8: {' '.join(str(error).split())}")
        except RecursionError:
            self.mistake((1, 1), f"nested too deeply for {what}")
        else:
            return root
        return None

    def mapping(
        self, node: yaml.Node, what: str, known: tuple[str, ...]
    ) -> Mapping[str, yaml.Node]:
        found: dict[str, yaml.Node] = {}
        for key, value in self.pairs(node, what):
            if key.value in found:
                self.mistake(place_of(key), f"`{key.value}` is here twice; keep one")
            elif key.value not in known:
                hint = did_you_mean(key.value, known)
                self.mistake(place_of(key), f"{what} has no key {key.value!r}{hint}")
            else:
                found[key.value] = value
        return found

    def labels(self, node: yaml.Node | None, what: str, path: str) -> dict[str, str]:
        if node is None:
            return {}
        self.places[path] = place_of(node)
        found: dict[str, str] = {}
        for key, value in self.pairs(node, what):
            if key.value in found:
                self.mistake(place_of(key), f"the label `{key.value}` is here twice; keep one")
            found[key.value] = self.text(value, f"the label `{key.value}`")
            self.places[f"{path}[{key.value}]"] = place_of(key)
        return found

    def pairs(self, node: yaml.Node, what: str) -> list[tuple[yaml.ScalarNode, yaml.Node]]:
        if not isinstance(node, yaml.MappingNode):
            self.mistake(place_of(node), f"{what} must be keys with values, not {_kind(node)}")
            return []
        pairs = []
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                pairs.append((key, value))
            else:
                self.mistake(place_of(key), f"a key of {what} must be a word, not {_kind(key)}")
        return pairs

    def sequence(self, node: yaml.Node, what: str) -> list[yaml.Node]:
        if not isinstance(node, yaml.SequenceNode):
            self.mistake(place_of(node), f"{what} must be a list, not {_kind(node)}")
            return []
        return list(node.value)

    def names(self, node: yaml.Node | None, what: str, path: str) -> list[str]:
        if node is None:
            return []
        self.places[path] = place_of(node)
        names = []
        for i, item in enumerate(self.sequence(node, what)):
            self.places[f"{path}[{i}]"] = place_of(item)
            names.append(self.text(item, f"a name in {what}"))
        return names

    def text(self, node: yaml.Node | None, what: str) -> str:
        if node is None:
            return ""
        if not isinstance(node, yaml.ScalarNode) or node.tag.endswith(":null"):
            self.mistake(place_of(node), f"{what} must be a word, not {_kind(node)}")
            return ""
        text = str(node.value)
        if any("\ud800" <= letter <= "\udfff" for letter in text):
            self.mistake(place_of(node), f"{what} has half a letter (a surrogate); write it whole")
            return ""
        return text

    def flag(self, node: yaml.Node | None, what: str) -> bool:
        if node is None:
            return False
        if not isinstance(node, yaml.ScalarNode) or node.value not in ("true", "false"):
            self.mistake(place_of(node), f"{what} must be true or false, not {_kind(node)}")
            return False
        return bool(node.value == "true")

    def quantity(self, node: yaml.Node | None, read: Callable[[object], _T], absent: _T) -> _T:
        """What ``read``, one of ``controller.fabric.quantities``, makes of a word."""
        if node is None:
            return absent
        empty: object = {} if isinstance(node, yaml.MappingNode) else []
        try:
            return read(str(node.value) if isinstance(node, yaml.ScalarNode) else empty)
        except ValueError as error:
            self.mistake(place_of(node), str(error))
            return absent

    def choice(self, node: yaml.Node | None, what: str, choices: tuple[str, ...]) -> str:
        """One of ``choices``, the first where there is no node."""
        if node is None:
            return choices[0]
        found = node.value if isinstance(node, yaml.ScalarNode) else ""
        if found not in choices:
            wanted = f"{', '.join(choices[:-1])} or {choices[-1]}"
            self.mistake(place_of(node), f"{what} must be {wanted}, not {_kind(node)}")
            return choices[0]
        return str(found)

    def mistake(self, place: Place, text: str) -> None:
        self.mistakes.append(Mistake(self.name, place, text))


def place_of(node: yaml.Node) -> Place:
    return node.start_mark.line + 1, node.start_mark.column + 1


def _kind(node: yaml.Node) -> str:
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    if isinstance(node, yaml.MappingNode):
        return "keys with values"
    return "nothing" if node.tag.endswith(":null") else f"{node.value[:40]!r}"
