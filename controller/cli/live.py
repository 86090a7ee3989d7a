"""The live view of a lab: a bar for each direction of each cable, second by second."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence

import click
from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from controller.cli import render
from controller.emulator.shell.answer import Answer
from controller.lab.errors import LabError
from controller.lab.prompt import words as w
from controller.lab.prompt.command import Session
from controller.lab.prompt.ground import Way
from controller.lab.prompt.looking import chosen_cables
from controller.lab.prompt.vocabulary import COMMANDS, answer

EVERY_S = 1.0
_CELLS = 20
_FULL = 0.9
_MOST_ON_A_LINE = 6
_WORTH_A_WORD = 0.005


def watch(session: Session, rest: str) -> Answer:
    """`watch [NAME...] [for=S]` until then, or `watch COMMAND...` while the command goes on, whose
    answer it is. Raises LabError."""
    command = rest if rest.partition(" ")[0] in COMMANDS else None
    plain, options = ([], {}) if command else w.options(rest.split(), {"for": w.seconds})
    chosen = chosen_cables(session, plain)

    def ways() -> Sequence[Way]:
        return [way for way in session.ground.ways(EVERY_S) if way.cable in chosen]

    if command:
        with _Drawing(ways):
            return answer(session, command)
    with _Drawing(ways) as drawing:
        try:
            drawing.ended.wait(options.get("for"))
        except KeyboardInterrupt:
            pass  # How one leaves it.
    return session.say()


class _Drawing:
    """Draws in a thread of its own while the block goes on; leaves the last picture behind."""

    def __init__(self, ways: Callable[[], Sequence[Way]]) -> None:
        self.ended = threading.Event()
        self._ways = ways
        self._thread = threading.Thread(target=self._draw, daemon=True)
        self._began_s = time.monotonic()
        self._last: Sequence[Way] = ()
        self._last_s = 0.0

    def __enter__(self) -> _Drawing:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self._thread.join()
        if self._last and render.console().is_terminal:
            render.console().print(picture(self._last, self._last_s, None))

    def _draw(self) -> None:
        console = render.console()
        try:
            if not console.is_terminal:
                for ways, at_s in self._seen():
                    click.echo(line(ways, at_s))
                return
            with Live(console=console, auto_refresh=False, screen=True) as live:
                for ways, at_s in self._seen():
                    live.update(picture(ways, at_s, console.height), refresh=True)
        except LabError:
            self.ended.set()  # The lab has gone; the prompt says so.

    def _seen(self) -> Iterator[tuple[Sequence[Way], float]]:
        while not self.ended.is_set():
            began_s = time.monotonic()
            self._last = self._ways()
            self._last_s = time.monotonic() - self._began_s
            yield self._last, self._last_s
            self.ended.wait(max(0.0, began_s + EVERY_S - time.monotonic()))


def line(ways: Sequence[Way], at_s: float) -> str:
    """The busiest directions, and what is not up, for a file or a pipe."""
    down = sorted({f"{way.cable} {way.state}" for way in ways if way.state != "up"})
    busy = sorted((way for way in ways if way.used >= _WORTH_A_WORD), key=lambda way: -way.used)
    said = [f"{way.tail}→{way.head} {way.used:.0%}" for way in busy[:_MOST_ON_A_LINE]]
    if len(busy) > _MOST_ON_A_LINE:
        said.append(f"… {len(busy) - _MOST_ON_A_LINE} more")
    return f"{at_s:6.1f} s  " + "  ".join([*said, *down] or ["all idle"])


def picture(ways: Sequence[Way], at_s: float, height: int | None) -> RenderableType:
    """A line for each cable with both its directions; where not all have room, those that are
    used most."""
    cables: dict[str, list[Way]] = {}
    for way in ways:
        cables.setdefault(way.cable, []).append(way)
    shown = list(cables.values())
    left_out = 0
    if height is not None and len(shown) > (room := max(1, height - 4)):
        left_out = len(shown) - room
        busiest = sorted(cables, key=lambda name: -max(way.used for way in cables[name]))[:room]
        shown = [both for name, both in cables.items() if name in busiest]
    made = render.table("CABLE", ">RATE", "", ">USED", "", "", ">USED", "")
    for both in shown:
        there, back = both[0], both[-1]
        cells: list[RenderableType] = [there.cable, render.bps(there.capacity_bps)]
        for way, arrow in ((there, "→"), (back, "←")):
            cells += [arrow, *_used(way)]
        made.add_row(*cells)
    worst = max((way.used for way in ways), default=0.0)
    head = Text(f"{at_s:.0f} s, the busiest at {worst:.1%}")
    foot = [Text(f"… and {left_out} that are used less", style="dim")] if left_out else []
    return Group(head, made, *foot)


def _used(way: Way) -> tuple[RenderableType, RenderableType]:
    if way.state != "up":
        return "", Text(way.state, style="bold red")
    return render.percent(way.used), bar(way.used)


def bar(share: float) -> Text:
    """A load above 0 is never drawn as none."""
    cells = min(_CELLS, max(round(share * _CELLS), 1) if share > 0 else 0)
    style = "red" if share > _FULL else "green"
    return Text.assemble(("█" * cells, style), ("·" * (_CELLS - cells), "dim"))
