"""What the documentation says exists: links, anchors, commands with their options, files."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from controller.cli.main import cli

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("benchmarks/*.md"), *(ROOT / "docs").rglob("*.md")])

_FENCE = re.compile(r" *(```+|~~~+)")
_LINK = re.compile(r"!?\[[^\]]*\]\(([^()\s]+)\)")
_CODE = re.compile(r"`[^`]*`")
_HEADING = re.compile(r"#{1,6} +(.*?) *#*$")
_PROMPT = re.compile(r"(?:[$#]|mininet>) +")
_PREFIXES = ("sudo", "exec")
_PLACEHOLDER = re.compile(r"[A-Z_]{2,}|.*[…*<].*|.*\.\.\..*")
_OPERATORS = re.compile(r"\s(?:\||&&|;|>|<|2>)\s?|\s&$")
_RUNNERS = ("heald", "make", "ryu-manager")


class Line(NamedTuple):
    """A line of a page's code blocks; a backslash at its end has been joined with the next."""

    page: Path
    number: int
    text: str

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.number}"


def prose(page: Path) -> Iterator[tuple[int, str]]:
    """Lines outside code blocks that are fenced."""
    inside = False
    for number, text in enumerate(page.read_text().splitlines(), 1):
        if _FENCE.match(text):
            inside = not inside
        elif not inside:
            yield number, text


def code(page: Path) -> Iterator[Line]:
    """Lines of fenced and of indented code blocks."""
    inside = False
    start, held = 0, ""
    for number, text in enumerate(page.read_text().splitlines(), 1):
        if _FENCE.match(text):
            inside = not inside
        elif inside or text.startswith("    "):
            start, joined = (start, f"{held} {text.strip()}") if held else (number, text.strip())
            held = joined.removesuffix("\\").rstrip() if joined.endswith("\\") else ""
            if not held:
                yield Line(page, start, joined)


def slug(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


@cache
def anchors(page: Path) -> frozenset[str]:
    headings = (_HEADING.match(text) for _, text in prose(page))
    return frozenset(slug(match[1]) for match in headings if match)


def links() -> Iterator[tuple[str, Path, str]]:
    """Place, page and target of each relative link."""
    for page in PAGES:
        for number, text in prose(page):
            for target in _LINK.findall(_CODE.sub("``", text)):
                if not re.match(r"[a-z]+:", target):
                    yield f"{page.relative_to(ROOT)}:{number}", page, target


def commands() -> Iterator[tuple[str, list[str]]]:
    """Place and words of each line that runs one of our commands."""
    for page in PAGES:
        for line in code(page):
            text = _PROMPT.sub("", line.text, count=1)
            text = re.sub(r"\s#\s.*$", "", text)
            for part in _OPERATORS.split(text):
                try:
                    words = shlex.split(part)
                except ValueError:
                    continue
                while words and (words[0] in _PREFIXES or re.match(r"[A-Z_]+=", words[0])):
                    words.pop(0)
                if words and words[0].rpartition("/")[2] in _RUNNERS:
                    yield line.place, [words[0].rpartition("/")[2], *words[1:]]


def run_by(name: str) -> list[tuple[str, list[str]]]:
    return [(place, words[1:]) for place, words in commands() if words[0] == name]


@cache
def make_targets() -> frozenset[str]:
    return frozenset(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def test_every_relative_link_and_anchor_leads_somewhere() -> None:
    wrong = []
    for place, page, target in links():
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        if not there.exists():
            wrong.append(f"{place}: {target}: there is no such file")
        elif anchor and anchor not in anchors(there):
            wrong.append(f"{place}: {target}: {there.name} has no heading of this anchor")
    assert not wrong, "\n".join(wrong)


def test_every_page_of_docs_is_reached_from_its_index() -> None:
    listed = {
        (page.parent / target.partition("#")[0]).resolve()
        for _, page, target in links()
        if page.name == "README.md"
    }
    orphans = [p for p in PAGES if p.parent != ROOT and p.name != "README.md" and p not in listed]
    assert not orphans, f"no index names {', '.join(p.name for p in orphans)}"


def test_every_decision_has_its_number() -> None:
    pages = [p for p in (ROOT / "docs" / "decisions").glob("*.md") if p.name != "README.md"]
    for page in pages:
        assert page.read_text().startswith(f"# {page.name[:4]}: "), page.name
    numbers = sorted(int(page.name[:4]) for page in pages)
    assert numbers == list(range(1, len(numbers) + 1))


def test_every_heald_command_is_known() -> None:
    found = run_by("heald")
    assert found, "the documentation shows no command of ours: is it still found?"
    wrong = [
        f"{place}: heald {shlex.join(args)}: {why}"
        for place, args in found
        if (why := _check(args))
    ]
    assert not wrong, "\n".join(wrong)


def _check(args: list[str]) -> str | None:
    """What is wrong with the words behind ``heald``; they are parsed, not run."""
    command: click.Command = cli
    context = click.Context(cli, info_name="heald")
    while isinstance(command, click.Group):
        try:
            _, rest, _ = command.make_parser(context).parse_args(list(args))
        except click.UsageError as error:
            return error.format_message()
        if not rest:
            return None
        inner = command.get_command(context, rest[0])
        if inner is None:
            return f"there is no command {rest[0]!r}"
        command, args = inner, rest[1:]
        context = click.Context(command, context, rest[0])
    try:
        command.make_parser(context).parse_args(list(args))
    except click.UsageError as error:
        return error.format_message()
    return None


def test_every_make_target_exists() -> None:
    found = run_by("make")
    assert found
    targets = [(place, word) for place, args in found for word in args if "=" not in word]
    wrong = [f"{place}: make {word}" for place, word in targets if word not in make_targets()]
    assert not wrong, "\n".join(wrong)


@cache
def ryu_manager_options() -> frozenset[str]:
    script = Path(sys.executable).with_name("ryu-manager")
    done = subprocess.run([script, "--help"], capture_output=True, text=True, check=True)
    return frozenset(re.findall(r"--[a-z0-9-]+", done.stdout))


@pytest.mark.timeout(60)
def test_every_option_of_ryu_manager_is_known() -> None:
    found = run_by("ryu-manager")
    assert found
    known = ryu_manager_options()
    wrong = []
    for place, args in found:
        wrong += [
            f"{place}: {w}" for w in args if w[:2] == "--" and w.partition("=")[0] not in known
        ]
        if args and not args[0].startswith("-") and args[0] != "apps.fabric":
            wrong.append(f"{place}: {args[0]} is no app of ours")
    assert not wrong, "\n".join(wrong)


def test_every_named_file_of_the_repository_exists() -> None:
    """In commands and in backticks: what begins with a folder of ours is there."""
    folders = {p.name for p in ROOT.iterdir() if p.is_dir() and not p.name.startswith(".")}
    wrong = []
    for page in PAGES:
        texts = [(n, c.strip("`")) for n, t in prose(page) for c in _CODE.findall(t)]
        texts += [(line.number, word) for line in code(page) for word in line.text.split()]
        for number, text in texts:
            path = text.strip("'\"`.,;:").removeprefix("./")
            if "/" not in path or path.split("/")[0] not in folders or _PLACEHOLDER.fullmatch(path):
                continue
            if not re.fullmatch(r"[\w./-]+", path) or (ROOT / path).exists():
                continue
            wrong.append(f"{page.relative_to(ROOT)}:{number}: {path}")
    assert not wrong, "\n".join(wrong)


@cache
def spoken() -> str:
    """The code of the controller, with texts that go over several lines on one."""
    files = sorted((ROOT / "controller").rglob("*.py"))
    return " ".join(re.sub(r'"\s*\n\s*f?"', "", path.read_text()) for path in files)


def api_names() -> frozenset[str]:
    """Messages, fields, enumerations with their values, services and methods of proto/heald/v1."""
    text = "".join(path.read_text() for path in sorted((ROOT / "proto" / "heald").rglob("*.proto")))
    text = re.sub(r"//.*", "", text)
    named = r"(?:message|enum|service|rpc|oneof)\s+(\w+)|(\w+)\s*=\s*\d+"
    return frozenset(name for pair in re.findall(named, text) for name in pair if name)


def test_what_is_said_of_the_api_is_in_the_api() -> None:
    """In backticks on the pages of the API: fields (with _), methods, messages, enum values; and
    reasons, which are words of the code."""
    known = api_names() | set(re.findall(r'"(\w+)"', spoken()))
    wrong = []
    for name in ("northbound.md", "intents.md"):
        for number, text in prose(ROOT / "docs" / name):
            for word in re.findall(r"`([A-Za-z]\w*)`", text):
                camel = re.fullmatch(r"(?:[A-Z][a-z]+){2,}", word)
                if (camel or re.fullmatch(r"[a-z]+(?:_[a-z]+)+", word)) and word not in known:
                    wrong.append(f"docs/{name}:{number}: {word}")
    assert not wrong, "\n".join(wrong)


def test_every_problem_of_the_operations_page_is_in_the_words_of_the_code() -> None:
    """The first column of the table of problems, without what stands for names."""
    text = (ROOT / "docs" / "operations.md").read_text()
    table = re.search(r"^\| problem \|.*?\n\n", text, re.MULTILINE | re.DOTALL)
    assert table
    problems = re.findall(r"^\| (`.+?`) \|", table[0], re.MULTILINE)
    assert len(problems) > 10
    variable = r"…|\b[a-z]+\d+(?::\d+)*(?:-[a-z]+\d+:\d+)*|\btcp:\S*|\S*/heald\.db|\b\d+\b"
    wrong = []
    for problem in re.findall(r"`([^`]+)`", " ".join(problems)):
        for part in re.split(variable, problem):
            words = part.strip(" :,()")
            # States stand behind an "is" of the table's own.
            if len(words) > 3 and words.removeprefix("is ") not in spoken():
                wrong.append(f"{problem}: nothing in controller/ says {words!r}")
    assert not wrong, "\n".join(wrong)


def test_every_option_in_backticks_is_an_option_of_ours() -> None:
    """Of any command of heald, of ryu-manager, or of the tools that pages tell people to run."""
    known = {*_options(cli), "--help"} | {"--no-build-isolation"}  # the last is pip's
    known |= ryu_manager_options()
    known |= set(re.findall(r"--[a-z-]+", (ROOT / "tools" / "bootstrap.py").read_text()))
    wrong = []
    for page in PAGES:
        for number, text in prose(page):
            for code_ in _CODE.findall(text):
                if re.match(r"`(?:ovs|git|pip|sudo|python)", code_):
                    continue
                wrong += [
                    f"{page.relative_to(ROOT)}:{number}: {option}"
                    for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", code_)
                    if option not in known
                ]
    assert not wrong, "\n".join(wrong)


def _options(command: click.Command) -> Iterator[str]:
    for parameter in command.params:
        yield from (*parameter.opts, *parameter.secondary_opts)
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _options(inner)
