"""YAML text as plain data in which every value knows its place.

Scalars stay text: what ``on``, ``12:30:45`` or ``0x10`` means is decided by the key they belong to,
so YAML 1.1's guesses (a boolean, a base-60 number, an integer) never happen. Work is bounded: the
parser's events are taken one by one, so nesting, size and alias expansion are refused before they
cost anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

import yaml

from controller.fabric.errors import Problem, Problems, TopologyErrors, quoted
from controller.fabric.model import Provenance

MAX_BYTES = 16 << 20
MAX_NODES = 500_000
"""Values in a file, those repeated by aliases included."""
MAX_DEPTH = 16

Path: TypeAlias = Sequence[str | int]

_TAGS = {None, "!", *(f"tag:yaml.org,2002:{t}" for t in ("str", "int", "float", "seq", "map"))}


@dataclass(slots=True, eq=False)
class Node:
    """A value with its place (line and column count from 0). Mapping keys are nodes, too."""

    line: int
    column: int
    value: str | list[Node] | dict[str, tuple[Node, Node]] | None = None
    size: int = 1
    height: int = 0
    anchor: str | None = None
    key: Node | None = None
    """While a mapping is being read: the key whose value comes next."""

    def data(self) -> Any:
        if isinstance(self.value, dict):
            return {name: value.data() for name, (_, value) in self.value.items()}
        if isinstance(self.value, list):
            return [item.data() for item in self.value]
        return self.value


@dataclass(frozen=True, slots=True)
class Document:
    file: str
    root: Node

    def where(self, path: Path, *, key: bool = False) -> Provenance:
        """Place of the value at ``path``; with ``key``, of the key that names it.

        Where ``path`` spells out what the file abbreviates, the abbreviation is the place.
        """
        node, label = self.root, None
        for step in path:
            if isinstance(node.value, dict):
                if step not in node.value:
                    break
                label, node = node.value[str(step)]
            elif isinstance(node.value, list) and isinstance(step, int):
                if step >= len(node.value):
                    break
                label, node = None, node.value[step]
        place = label if key and label is not None else node
        return Provenance(self.file, place.line + 1, place.column + 1)


def node_at(value: Any, place: Node) -> Node:
    """Of plain data, all of it at one place."""
    if isinstance(value, dict):
        inner = {name: (node_at(name, place), node_at(v, place)) for name, v in value.items()}
        return Node(place.line, place.column, inner)
    if value is None or isinstance(value, str):
        return Node(place.line, place.column, value)
    return Node(place.line, place.column, [node_at(item, place) for item in value])


def read(text: bytes, file: str, problems: Problems) -> Document:
    """The document in ``text``; ``problems`` gets those that do not stop it from being read.

    Raises:
        TopologyErrors: ``text`` is no YAML, or more of it than any fabric needs.
    """
    if len(text) > MAX_BYTES:
        raise _error(file, 0, 0, f"larger than {MAX_BYTES >> 20} MiB: split the fabric")
    decoded = _decode(text, file)
    reader = _Reader(file, problems)
    try:
        for event in yaml.parse(decoded, Loader=yaml.CSafeLoader):
            reader.take(event)
    except yaml.reader.ReaderError as error:
        raise _error(file, 0, 0, f"not YAML: {error.reason}") from None
    except yaml.MarkedYAMLError as error:
        line, column, what = _syntax(decoded, error)
        raise problems.stop(Provenance(file, line + 1, column + 1), what) from None
    if reader.root is None:
        raise _error(file, 0, 0, "the file is empty: begin with `fabric: NAME` and `switches:`")
    return Document(file, reader.root)


def _decode(text: bytes, file: str) -> str:
    try:
        decoded = text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # With a byte order mark, positions count from behind it.
        good = error.object[: error.start].decode("utf-8")
        line, column = good.count("\n"), len(good) - good.rfind("\n") - 1
        raise _error(
            file,
            line,
            column,
            f"byte 0x{error.object[error.start]:02x} is not UTF-8: save it as UTF-8",
        ) from None
    if bad := yaml.reader.Reader.NON_PRINTABLE.search(decoded):
        at = bad.start()
        line, column = decoded.count("\n", 0, at), at - decoded.rfind("\n", 0, at) - 1
        raise _error(file, line, column, f"control character U+{ord(bad.group()):04X}: delete it")
    return decoded


def _syntax(text: str, error: yaml.MarkedYAMLError) -> tuple[int, int, str]:
    """Line, column and description of a syntax error."""
    mark = error.problem_mark or error.context_mark
    line, column = _place(mark)
    what = f"not YAML: {error.problem or error.context or 'it cannot be parsed'}"
    if error.context and error.problem:
        what += f" {error.context}"
        if error.context_mark and error.context_mark.line != line:
            what += f" that began at line {error.context_mark.line + 1}"
    at = mark.index if mark else 0
    if at >= len(text):
        # The parser counts a line that is not there.
        text = text.rstrip()
        line, column = text.count("\n"), max(0, len(text) - text.rfind("\n") - 2)
        return line, column, f"{what}, and here the file ends: close the bracket or quote"
    if text[at] == "\t":
        return line, column, "a tab: indent with spaces"
    return line, column, f"{what}: mind indentation, and quote what is no plain word"


def _error(file: str, line: int, column: int, text: str) -> TopologyErrors:
    return TopologyErrors([Problem(Provenance(file, line + 1, column + 1), text)])


def _place(mark: Any) -> tuple[int, int]:
    return (mark.line, mark.column) if mark else (0, 0)


class _Reader:
    """Builds nodes out of parser events."""

    def __init__(self, file: str, problems: Problems) -> None:
        self.root: Node | None = None
        self._file = file
        self._problems = problems
        self._open: list[Node] = []
        self._anchors: dict[str, Node] = {}
        self._nodes = 0

    def _problem(self, line: int, column: int, text: str) -> None:
        self._problems.add(Provenance(self._file, line + 1, column + 1), text)

    def take(self, event: yaml.Event) -> None:
        line, column = _place(event.start_mark)
        if isinstance(event, yaml.ScalarEvent):
            empty = event.style == "" and event.value in ("", "~", "null")
            value = None if empty and not self._expects_key() else event.value
            self._add(self._node(event, value))
        elif isinstance(event, yaml.CollectionStartEvent):
            if self._expects_key():
                self._stop(line, column, "a mapping or list as a key: keys are plain words")
            node = self._node(event, {} if isinstance(event, yaml.MappingStartEvent) else [])
            if len(self._open) >= MAX_DEPTH:
                self._too_deep(node)
            self._open.append(node)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._add(self._open.pop())
        elif isinstance(event, yaml.AliasEvent):
            if self._expects_key():
                self._stop(line, column, "an alias as a key: write the word")
            self._add(self._alias(event))
        elif isinstance(event, yaml.DocumentStartEvent) and self.root is not None:
            self._stop(line, column, "a second document: one file holds one fabric, delete `---`")

    def _expects_key(self) -> bool:
        return bool(
            self._open and isinstance(self._open[-1].value, dict) and self._open[-1].key is None
        )

    def _node(self, event: yaml.NodeEvent, value: Any) -> Node:
        line, column = _place(event.start_mark)
        tag = getattr(event, "tag", None)
        if tag not in _TAGS:
            self._problem(line, column, f"tag {quoted(str(tag))} means nothing here: delete it")
        self._nodes += 1
        node = Node(line, column, value, anchor=event.anchor)
        if isinstance(event, yaml.ScalarEvent) and event.anchor:
            self._anchors[event.anchor] = node
        elif event.anchor:
            self._anchors.pop(event.anchor, None)
        return node

    def _alias(self, event: yaml.AliasEvent) -> Node:
        line, column = _place(event.start_mark)
        name = str(event.anchor)
        if any(node.anchor == name for node in self._open):
            self._stop(line, column, f"*{name} stands inside &{name}: name another anchor")
        if name not in self._anchors:
            self._stop(line, column, f"no anchor &{name} before *{name}: define it above")
        return self._anchors[name]

    def _add(self, node: Node) -> None:
        if node.anchor and not isinstance(node.value, str):
            self._anchors[node.anchor] = node
        parent = self._open[-1] if self._open else None
        if parent is None:
            self.root = node
            return
        parent.size += node.size
        parent.height = max(parent.height, node.height + 1)
        if len(self._open) + node.height > MAX_DEPTH:
            self._too_deep(node)
        if self._nodes > MAX_NODES or parent.size > MAX_NODES:
            self._stop(node.line, node.column, f"more than {MAX_NODES:,} values: split the fabric")
        if isinstance(parent.value, list):
            parent.value.append(node)
        elif isinstance(parent.value, dict):
            self._add_to_mapping(parent, parent.value, node)

    def _add_to_mapping(
        self, parent: Node, entries: dict[str, tuple[Node, Node]], node: Node
    ) -> None:
        key = parent.key
        if key is None:
            parent.key = node
            return
        parent.key = None
        name = str(key.value)
        if name == "<<":
            self._problem(key.line, key.column, "merge key `<<` is not read: use `defaults`")
        elif name in entries:
            first = entries[name][0]
            self._problem(
                key.line,
                key.column,
                f"{quoted(name)} stands here twice, first at line {first.line + 1}: "
                "rename or delete one",
            )
        else:
            entries[name] = (key, node)

    def _too_deep(self, node: Node) -> NoReturn:
        self._stop(node.line, node.column, f"nested more than {MAX_DEPTH} deep: no topology is")

    def _stop(self, line: int, column: int, text: str) -> NoReturn:
        raise self._problems.stop(Provenance(self._file, line + 1, column + 1), text)
