"""Several files of intents as one batch, and where in them a mistake is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import click

from controller.cli.intent_file import IntentFile, read
from controller.cli.nodes import Mistake
from controller.intents import words

_BATCH_INDEX = re.compile(r"intents\[(\d+)\]")


def open_intents(name: str) -> IntentFile:
    """- is standard input. Never raises: a file that cannot be read has that mistake."""
    try:
        with click.open_file(name, "rb") as stream:
            return read(name, stream.read())
    except OSError as error:
        mistake = Mistake(name, (1, 1), f"cannot be read: {error.strerror}")
        return IntentFile(name, mistakes=[mistake])


def mistakes_of(documents: Sequence[IntentFile]) -> list[Mistake]:
    """All that the files show by themselves, without a fabric."""
    found = [mistake for document in documents for mistake in document.mistakes]
    return [*found, *_duplicates(documents)]


def placed(field: str, description: str, documents: Sequence[IntentFile]) -> Mistake:
    """Where the field of a request stands in the files that the request was made of."""
    match = _BATCH_INDEX.match(field)
    index = int(match[1]) if match else 0
    for document in documents:
        if index < len(document.intents):
            break
        index -= len(document.intents)
    rest = field[match.end() :] if match else ""
    return Mistake(document.name, document.place_of(f"[{index}]{rest}"), description)


def _duplicates(documents: Sequence[IntentFile]) -> Iterator[Mistake]:
    first: dict[str, str] = {}
    for document in documents:
        for i, message in enumerate(document.intents):
            place = document.place_of(f"[{i}].name")
            here = f"{document.name}:{place[0]}:{place[1]}"
            there = first.setdefault(message.name, here)
            if there != here and message.name:
                text = f"{words.short_name(message.name)!r} is also the name at {there}"
                yield Mistake(document.name, place, f"{text}; give each its own")
