"""The prompt of a lab without a lab: what is drawn, what is said, what goes on after an error."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from controller.cli.live import line, picture
from controller.cli.prompt import OWN, Prompt
from controller.cli.prompt_lines import completer, vocabulary
from controller.lab.errors import LabError
from controller.lab.prompt.command import Session
from controller.lab.prompt.ground import Way
from controller.lab.prompt.vocabulary import COMMANDS, answer
from tests.lab.still_ground import StillGround

WAYS = [
    Way("leaf1:11-spine1:1", "leaf1:11", "spine1:1", "up", 50e6, 47.5e6),
    Way("leaf1:11-spine1:1", "spine1:1", "leaf1:11", "up", 50e6, 5e6),
    Way("leaf1:12-spine2:1", "leaf1:12", "spine2:1", "down", 50e6, 0.0),
    Way("leaf1:12-spine2:1", "spine2:1", "leaf1:12", "down", 50e6, 0.0),
    Way("h1/eth0", "h1/eth0", "leaf1:1", "up", 50e6, 10.0),
    Way("h1/eth0", "leaf1:1", "h1/eth0", "up", 50e6, 0.0),
]


@pytest.fixture
def ground() -> StillGround:
    return StillGround(ways=WAYS)


@pytest.fixture
def session(ground: StillGround) -> Session:
    def none() -> Any:
        raise LabError("this lab has no controller, and gets none")

    return Session(ground, None, none)


def said(capsys: pytest.CaptureFixture[str], session: Session, *lines: str) -> tuple[bool, str]:
    """Whether all went well, and all that was printed."""
    well = Prompt(session).run(lines)
    captured = capsys.readouterr()
    return well, captured.out + captured.err


def test_every_example_of_help_can_be_written_as_it_stands(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _s: None)
    for name, command in COMMANDS.items():
        for example in command.examples:
            if example.startswith("allow") or "controller" in example:
                with pytest.raises(LabError, match="has no controller"):
                    answer(session, example)
            elif "class=storage" in example or "/*" in example:
                continue  # Of fabrics that have such classes, or several rails.
            else:
                assert answer(session, example).time_s == 1.5, name


def test_after_any_error_the_prompt_goes_on(
    session: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = {
        "cut leaf1 spine9": "there is no switch or host 'spine9'; did you mean",
        "cut": "write cut A B or cut NAME",
        "flod h1 h2": "there is no command 'flod'; did you mean 'flood'? `help` lists all",
        "flood h1 h1": "are of one host; name two",
        "flood h1 h3 20": "has no unit",
        "flood h1 h3 class=gold": "there is no class 'gold'",
        "collective rings h1..h4": "there is no collective 'rings'; did you mean 'ring'?",
        "collective halving-doubling h1..h3": "needs 2, 4, 8, 16, ... ranks",
        "collective ring h1": "takes two ranks or more",
        "kill h1": "there is no switch 'h1'",
        "swap leaf1:99 leaf1:11": "there is no cable at a port 'leaf1:99'",
        "links spine7": "did you mean 'spine",
        'ping "h1': "No closing quotation",
        "h1": "write h1 COMMAND",
        "help cutt": "there is no command 'cutt'; did you mean 'cut'?",
        "kill controller": "has no controller; `revive controller` starts one",
    }
    for line_, why in wrong.items():
        well, printed = said(capsys, session, line_, "sh true", "mend all")
        assert not well
        assert why in printed, line_
        assert "leaf1:12-spine2:1 is whole" in printed


def test_a_program_that_fails_is_in_the_exit_code(
    session: Session, capfd: pytest.CaptureFixture[str]
) -> None:
    assert Prompt(session).run(["sh true"])
    assert not Prompt(session).run(["sh false", "sh echo on"])
    assert capfd.readouterr().out == "on\n"


def test_names_of_hosts_become_their_addresses_in_programs(
    session: Session, capfd: pytest.CaptureFixture[str]
) -> None:
    Prompt(session).run(["h1 echo ping h3 and not-h3"])
    assert capfd.readouterr().out == "ping 10.0.2.1 and not-h3\n"


def test_when_the_switches_end_so_does_the_prompt(session: Session, ground: StillGround) -> None:
    ground.ended = True
    with pytest.raises(LabError, match="so has the lab"):
        Prompt(session).run(["hosts", "hosts"])


def test_comments_and_empty_lines_say_nothing_and_exit_ends(
    session: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(capsys, session, "", "# cut leaf1 spine1", "exit", "nonsense") == (True, "")


def test_for_machines_every_command_is_one_line_of_json(
    session: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    Prompt(session, as_json=True).run(["ping h1 h3", "cut x", "sh echo a; exit 3", "watch"])
    ping, cut, shell, watch = map(json.loads, capsys.readouterr().out.splitlines())
    assert ping["ok"] and ping["command"] == "ping h1 h3"
    assert dict(zip(ping["columns"], ping["rows"][0], strict=True))["round_trip_ms"] == 0.25
    assert not cut["ok"] and "there is no link or NIC 'x'" in cut["error"]
    assert (shell["ok"], shell["text"], shell["exit_code"]) == (False, "a\n", 3)
    assert "draws for people" in watch["error"]


def test_people_get_units(session: Session, capsys: pytest.CaptureFixture[str]) -> None:
    _, printed = said(
        capsys, session, "collective ring h1..h8 size=10MB", "flood h1 h3 20M for=1ms"
    )
    assert re.search(r"8 +1 +10MB +2 s +40M +70M +140.0%", printed)
    assert re.search(r"h1/eth0 +h3/eth0 +20M +10M +50.0% +7 +12.5 ms", printed)


def test_what_flows_behind_the_prompt_is_reported_by_stop(
    session: Session, ground: StillGround, capsys: pytest.CaptureFixture[str]
) -> None:
    _, printed = said(capsys, session, "flood h1 h3 20M flows=4 &", "stop", "stop")
    assert "floods h3/eth0; `stop` ends it" in printed
    assert "50.0%" in printed and printed.endswith("nothing is flowing\n")
    assert ground.done[0][1].flows == 4


def test_the_line_of_a_pipe_has_the_busiest_and_what_is_down() -> None:
    assert line(WAYS, 3.0) == (
        "   3.0 s  leaf1:11→spine1:1 95%  spine1:1→leaf1:11 10%  leaf1:12-spine2:1 down"
    )
    assert line([replace(way, load_bps=0.0, state="up") for way in WAYS], 3.0).endswith("all idle")


def drawn(ways: Sequence[Way], height: int | None) -> list[str]:
    console = Console(width=120, record=True, color_system=None, file=open("/dev/null", "w"))  # noqa: PTH123, SIM115
    console.print(picture(ways, 3.0, height))
    return [text.rstrip() for text in console.export_text().splitlines()]


def test_the_picture_has_a_line_for_each_cable_with_both_directions() -> None:
    head, titles, busy, down, nearly = drawn(WAYS, None)
    assert head == "3 s, the busiest at 95.0%"
    assert titles.split() == ["CABLE", "RATE", "USED", "USED"]
    assert re.fullmatch(r"leaf1:11-spine1:1 +50M +→ +95.0% +█{19}· +← +10.0% +█{2}·{18}", busy)
    assert re.fullmatch(r"leaf1:12-spine2:1 +50M +→ +down +← +down", down)
    # A load above 0 is never drawn as none.
    assert re.search(r"→ +0.0% +█·{19} +← +0.0% +·{20}", nearly)


def test_in_a_small_window_the_busiest_are_shown() -> None:
    many = [replace(way, cable=f"{way.cable}-{n}") for n in range(20) for way in WAYS[2:]] + WAYS
    shown = drawn(many, 10)
    assert any(text.startswith("leaf1:11-spine1:1 ") for text in shown)
    assert len(shown) <= 10
    assert shown[-1] == "… and 37 that are used less"


def test_tab_completes_commands_names_and_options(session: Session) -> None:
    complete = completer(vocabulary(session, OWN))
    assert complete("coll", 0) == "collective " and complete("coll", 1) is None
    assert complete("spine", 0) == "spine1 " and complete("spine", 1) == "spine2 "
    assert complete("halv", 0) == "halving-doubling "
    assert complete("fau", 0) == "fault "
    assert complete("flows", 0) == "flows="
    assert complete("h1/", 0) == "h1/eth0 "
    assert complete("watc", 0) == "watch "
