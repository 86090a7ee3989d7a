"""What a command is, and what it works on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from controller.emulator.shell.answer import Answer
from controller.lab.errors import LabError
from controller.lab.prompt.ground import Flowing, Ground
from controller.lab.session import LabController


@dataclass(slots=True)
class Session:
    """A lab and its controller, which is None in a lab that has none. ``flowing``: what was sent on
    its way and not stopped yet."""

    ground: Ground
    controller: LabController | None
    start_controller: Callable[[], LabController]
    controller_killed: bool = False
    flowing: list[Flowing] = field(default_factory=list)

    def need_controller(self) -> LabController:
        if self.controller is None:
            raise LabError("this lab has no controller; `revive controller` starts one")
        if self.controller_killed:
            raise LabError("the controller was killed: `revive controller` starts it again")
        return self.controller

    def say(
        self, text: str = "", columns: tuple[str, ...] = (), rows: Sequence[tuple[Any, ...]] = ()
    ) -> Answer:
        return Answer(round(self.ground.now_s, 3), text, columns, list(rows))


Act = Callable[[Session, Sequence[str]], Answer]


@dataclass(frozen=True, slots=True)
class Command:
    """``act`` takes the words behind the name and raises LabError. ``usages``: what to write, and
    what it does."""

    act: Act
    usages: tuple[tuple[str, str], ...]
    examples: tuple[str, ...] = ()


class UsageError(LabError):
    """The words do not fit; how they would is said by who knows the command."""
