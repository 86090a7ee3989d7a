"""Cables that are cut, switches and controllers that die, cables plugged in wrongly."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Sequence

from controller.emulator.shell.answer import Answer
from controller.lab.errors import LabError
from controller.lab.prompt import words as w
from controller.lab.prompt.command import Command, Session, UsageError

_CONTROLLER, _BRAIN, _SILENT = "controller", "brain", "silent"


def _cut(session: Session, words: Sequence[str]) -> Answer:
    silently = bool(words) and words[-1] == _SILENT
    cables = _cables(session, words[:-1] if silently else words)
    session.ground.cut(cables, silently)
    how = "loses everything, and neither end sees it" if silently else "is cut"
    return session.say("\n".join(f"{cable} {how}" for cable in cables))


def _mend(session: Session, words: Sequence[str]) -> Answer:
    cables = session.ground.cut_now() if list(words) == [w.ALL] else _cables(session, words)
    session.ground.mend(cables)
    return session.say("\n".join(f"{cable} is whole" for cable in cables) or "nothing was cut")


def _cables(session: Session, words: Sequence[str]) -> list[str]:
    if len(words) not in (1, 2):
        raise UsageError
    return w.cables(session.ground.fabric, words)


def _link(session: Session, words: Sequence[str]) -> Answer:
    """Mininet's words for the same."""
    if not words or words[-1] not in ("up", "down"):
        raise UsageError
    return (_mend if words[-1] == "up" else _cut)(session, words[:-1])


def _swap(session: Session, words: Sequence[str]) -> Answer:
    if len(words) != 2:
        raise UsageError
    a, b = (w.port(session.ground.fabric, word) for word in words)
    if a == b:
        raise LabError(f"{a} is one port; name two")
    return session.say(session.ground.swap(a, b))


def _kill(session: Session, words: Sequence[str]) -> Answer:
    victim = _victim(session, words)
    if victim == _CONTROLLER:
        controller = session.need_controller()
        controller.process.kill()
        controller.process.wait()
        session.controller_killed = True
        return session.say("the controller is gone, by kill -9; switches go on by themselves")
    if victim == _BRAIN:
        pid = _brain(session)
        os.kill(pid, signal.SIGKILL)
        return session.say(f"the brain (pid {pid}) is gone, by kill -9; it is started again")
    session.ground.power(victim, False)
    return session.say(f"{victim} has no power: no cable of it has carrier, its session is gone")


def _revive(session: Session, words: Sequence[str]) -> Answer:
    victim = _victim(session, words)
    if victim == _BRAIN:
        raise LabError("the brain comes back by itself; `heald status` says whether it has")
    if victim == _CONTROLLER:
        if session.controller is not None and not session.controller_killed:
            raise LabError("the controller runs; `kill controller` ends it")
        session.controller = session.start_controller()
        session.controller_killed = False
        return session.say("the controller is back, and every switch holds what it should")
    session.ground.power(victim, True)
    return session.say(f"{victim} has power, and empty tables")


def _victim(session: Session, words: Sequence[str]) -> str:
    if len(words) != 1:
        raise UsageError
    known = [*session.ground.fabric.switch_by_name, _CONTROLLER, _BRAIN]
    return w.one_of(words[0], known, "switch")


def _brain(session: Session) -> int:
    with session.need_controller().client() as client:
        said = client.status().processes.get(_BRAIN, "")
    found = re.search(r"pid (\d+)", said)
    if found is None:
        raise LabError("the controller does not say which process its brain is; is it back yet?")
    return int(found[1])


COMMANDS = {
    "cut": Command(
        _cut,
        (
            ("cut A B", "pull all cables between two switches or hosts"),
            ("cut NAME", "pull one: a link, or the cable of a NIC"),
            ("cut ... silent", "they lose everything, and carrier stays: only BFD finds that"),
        ),
        ("cut leaf1 spine2", "cut leaf1:11-spine1:1", "cut h1/eth0", "cut leaf1 spine2 silent"),
    ),
    "mend": Command(
        _mend,
        (("mend A B", "and plug them in again"), ("mend NAME|all", "one, or everything")),
        ("mend leaf1 spine2", "mend all"),
    ),
    "kill": Command(
        _kill,
        (
            ("kill SWITCH", "take its power away"),
            ("kill controller|brain", "kill -9 of all of it, or of the process that plans"),
        ),
        ("kill spine1", "kill controller"),
    ),
    "revive": Command(
        _revive,
        (("revive SWITCH|controller", "give it back"),),
        ("revive spine1", "revive controller"),
    ),
    "swap": Command(
        _swap,
        (("swap PORT PORT", "exchange the cables of two ports; the same again undoes it"),),
        ("swap leaf2:11 leaf2:12",),
    ),
    "link": Command(_link, (("link A B down|up", "cut and mend, as Mininet says it"),)),
}
