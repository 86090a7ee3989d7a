"""What the documentation types at the prompt of a lab can be typed there, in the lab it shows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controller.fabric.load import load
from controller.lab.errors import LabError
from controller.lab.prompt import words as w
from controller.lab.prompt.command import Session
from controller.lab.prompt.vocabulary import COMMANDS, answer
from tests.lab.still_ground import StillGround

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "docs" / name for name in ("labs.md", "getting-started.md")]

_LAB = re.compile(r"heald lab .*?(topologies/[\w-]+\.yaml)")
_TYPED = re.compile(r"^ *heald> (.*)")


def labs(page: Path) -> Iterator[tuple[str, Path]]:
    """Places where one is started, and its topology."""
    for number, text in enumerate(page.read_text().splitlines(), 1):
        if found := _LAB.search(text):
            yield f"{page.name}:{number}", ROOT / found[1]


def typed() -> Iterator[tuple[str, Path, str, str]]:
    """Place, topology of the last lab that was started, what is typed, and the line after it."""
    for page in PAGES:
        topology = None
        lines = page.read_text().splitlines()
        for number, text in enumerate(lines, 1):
            if found := _LAB.search(text):
                topology = ROOT / found[1]
            elif found := _TYPED.match(text):
                assert topology is not None, f"{page.name}:{number}: in which lab?"
                following = lines[number] if number < len(lines) else ""
                yield f"{page.name}:{number}", topology, found[1].strip(), following


def test_every_topology_of_a_lab_exists() -> None:
    found = [each for page in PAGES for each in labs(page)]
    assert len(found) > 10
    wrong = [f"{place}: {path.name}" for place, path in found if not path.exists()]
    assert not wrong, "\n".join(wrong)


def test_the_gallery_has_at_least_eight_labs_with_a_question_and_output() -> None:
    gallery = (ROOT / "docs" / "labs.md").read_text().partition("\n## Gallery\n")[2]
    sections = re.split(r"^### ", gallery.partition("\n## ")[0], flags=re.MULTILINE)[1:]
    assert len(sections) >= 8
    for section in sections:
        title, _, body = section.partition("\n")
        assert title.endswith("?"), f"{title} is no question"
        assert _LAB.search(body), f"{title}: how is the lab started?"
        assert re.search(r"^heald> .*\n(?!heald>|```)", body, re.MULTILINE), f"{title}: no output"


def test_every_command_at_a_prompt_can_be_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _s: None)
    found = list(typed())
    assert len(found) > 40
    wrong = []
    for place, topology, line, following in found:
        why = problem(topology, line)
        # Some are shown for what is said to them.
        if bool(why) != following.strip().startswith("heald: "):
            wrong.append(f"{place}: {line}: {why or 'works, and the page shows an error'}")
    assert not wrong, "\n".join(wrong)


def problem(topology: Path, line: str) -> str:
    """What is wrong with a line, typed in a lab of this topology; empty when nothing is."""
    fabric = load(topology.read_bytes(), str(topology))
    first, *rest = line.split()
    if first in ("sh", "heald", "help", "exit", *fabric.host_by_name, *fabric.switch_by_name):
        return ""  # Programs; those of ours are looked at elsewhere.
    if first == "watch":
        if rest and rest[0] in COMMANDS:
            return problem(topology, " ".join(rest))
        return problem(topology, " ".join(["links", *rest]))
    if rest[:1] in (["controller"], ["brain"]):
        return ""

    def none() -> Any:
        raise LabError("no controller")

    try:
        if first == "allow":
            w.hosts(fabric, [word for word in rest if "=" not in word])
        else:
            answer(Session(StillGround(topology), None, none), line)
    except LabError as error:
        return str(error)
    return ""
