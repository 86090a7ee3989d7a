"""A ``generate`` block of a topology file becomes the elements that it stands for.

They are put where they would stand had they been written out, each with the place of the block; so
all that follows treats them alike.
"""

from __future__ import annotations

from controller.fabric.document import Document, Node, node_at
from controller.fabric.errors import Problems, quoted
from controller.fabric.generate import kinds
from controller.fabric.generate.draft import Elements
from controller.fabric.generate.parameters import ParameterErrors
from controller.fabric.schema import Defaults, NicDefaults

KEY = "generate"


def expand(document: Document, problems: Problems) -> Document:
    """``document`` with the elements of its block, if it has one.

    Raises:
        TopologyErrors: with all that is wrong with the block, since without its elements nearly
            all others would seem wrong.
    """
    root = document.root
    if not isinstance(root.value, dict) or KEY not in root.value:
        return document
    place, node = root.value[KEY]
    data = node.data()
    given = {"kind": data} if isinstance(data, str) else data
    try:
        if not isinstance(given, dict):
            raise ParameterErrors.of(
                None, "a mapping belongs here, like {kind: leaf-spine, leaves: 8}"
            )
        parameters = kinds.read(given)
        made = kinds.elements(parameters, _defaults(root.value))
    except ParameterErrors as errors:
        for path, text in errors.found:
            problems.add(document.where((KEY, *path), key=True), text)
        raise problems.errors() from None
    return Document(document.file, _merged(document, place, root.value, made, problems))


def _defaults(root: dict[str, tuple[Node, Node]]) -> Defaults:
    """Some that do, if there is something wrong with those of the file, which is said where they
    are looked at themselves."""
    if "defaults" not in root:
        return Defaults()
    try:
        return Defaults.model_validate(root["defaults"][1].data() or {})
    except ValueError:
        return Defaults(nic=NicDefaults.model_construct(capacity=1e9))


def _merged(
    document: Document,
    place: Node,
    root: dict[str, tuple[Node, Node]],
    made: Elements,
    problems: Problems,
) -> Node:
    """The root with the elements beside those that are written; names that are both, a problem."""
    merged = dict(root)
    for section, elements in (("switches", made.switches), ("hosts", made.hosts)):
        key, node = root.get(section, (place, node_at({}, place)))
        written = {} if node.value is None else node.value
        if isinstance(written, dict):
            for name in written.keys() & elements.keys():
                problems.add(
                    document.where((section, name), key=True),
                    f"{quoted(name)} is among what the `{KEY}` block at line {place.line + 1} "
                    "makes: rename this one, or let `heald topology generate` write the elements "
                    "out and change it there",
                )
            generated = {
                name: (node_at(name, place), node_at(value, place))
                for name, value in elements.items()
                if name not in written
            }
            merged[section] = key, Node(node.line, node.column, {**written, **generated})
    key, node = root.get("links", (place, node_at([], place)))
    if isinstance(node.value, list) or node.value is None:
        links = [*(node.value or ()), *(node_at(link, place) for link in made.links)]
        merged["links"] = key, Node(node.line, node.column, links)
    return Node(document.root.line, document.root.column, merged)
