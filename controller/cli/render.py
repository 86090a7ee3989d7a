"""How the commands talk: tables for people, JSON for machines, a line for each error."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timezone
from typing import NoReturn

import click
from google.protobuf.json_format import MessageToJson
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from rich.console import Console
from rich.table import Table
from rich.text import Text

from heald import Client, HealdError, connect
from heald.v1 import intents_pb2

EXIT_FAILED = 1
EXIT_WRONG_INPUT = 2
BAR_CELLS = 24

_STYLES = {
    "ACTIVE": "green",
    "PENDING": "yellow",
    "PLANNED": "yellow",
    "INSTALLING": "yellow",
    "DEGRADED": "bold red",
    "REJECTED": "bold red",
    "WITHDRAWING": "dim",
    "GONE": "dim",
}
_AGES = ((86400, "d", 3600, "h"), (3600, "h", 60, "m"), (60, "m", 1, "s"))
_UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def console() -> Console:
    """Of standard output as it is now; a pipe gets no colours and no cut lines."""
    # No markup: what the controller says may contain brackets, and IPv6 addresses `:a:`.
    found = Console(highlight=False, markup=False, emoji=False)
    if not found.is_terminal:
        found.width = 200
    return found


def table(*columns: str) -> Table:
    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        made.add_column(column.lstrip(">"), justify="right" if column.startswith(">") else "left")
    return made


def bps(value: float) -> str:
    """``94.2G`` for bits per second."""
    for unit, name in _UNITS:
        if abs(value) >= unit:
            return f"{value / unit:.3g}{name}"
    return f"{value:.3g}"


def percent(share: float) -> str:
    return f"{share * 100:.1f}%"


def bar(share: float, style: str) -> Text:
    """As long as the share, ``BAR_CELLS`` for all."""
    return Text("█" * round(min(share, 1.0) * BAR_CELLS), style)


def state(name: str) -> Text:
    return Text(name, style=_STYLES.get(name, ""))


def switch_state(name: str) -> Text:
    if name in ("reading", "installing"):
        return Text(name, style="yellow")
    return Text(name, style="green" if name == "in-sync" else "bold red")


def state_of(intent: intents_pb2.Intent) -> str:
    return intents_pb2.IntentState.Name(intent.status.state)


def local_time(time: Timestamp) -> str:
    return time.ToDatetime(tzinfo=timezone.utc).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def age(since: Timestamp, now: Timestamp) -> str:
    """``3d4h``, ``12m5s``: the two largest units that are not 0, never negative."""
    seconds = max(0, now.ToMilliseconds() - since.ToMilliseconds()) // 1000
    for size, name, smaller, next_name in _AGES:
        if seconds >= size:
            rest = seconds % size // smaller
            return f"{seconds // size}{name}" + (f"{rest}{next_name}" if rest else "")
    return f"{seconds}s"


def endpoints(selector: intents_pb2.Selector) -> str:
    parts = ["all"] if selector.all else []
    for names in (selector.hosts, selector.nics, selector.accelerators):
        parts += names[:4]
        if len(names) > 4:
            parts.append(f"… {len(names) - 4} more")
    parts += [f"{key}={value}" for key, value in sorted(selector.match_labels.items())]
    return " ".join(parts)


def to_json(message: Message, indent: int | None = 2) -> str:
    """With the names of the proto files; numbers of 64 bits are strings, as protobuf has it."""
    return MessageToJson(
        message,
        preserving_proto_field_name=True,
        always_print_fields_with_no_presence=True,
        indent=indent,
    )


@contextmanager
def controller(server: str | None) -> Iterator[Client]:
    """A client of the controller; what goes wrong with it ends the command with a sentence."""
    with connect(server) as client:
        try:
            yield client
        except HealdError as error:
            fail(error)


def fail(error: HealdError) -> NoReturn:
    lines = [f"{v.field}: {v.description}" if v.field else v.description for v in error.violations]
    for line in lines or [error.message]:
        click.echo(f"heald: {line}", err=True)
    sys.exit(EXIT_WRONG_INPUT if error.code == "INVALID_ARGUMENT" else EXIT_FAILED)
