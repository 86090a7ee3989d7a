"""Bundles, with Open vSwitch's semantics.

A message that makes no sense by itself is refused when it is added, and the rest of the bundle
stays: a commit applies what was taken. A commit in which a message turns out impossible applies
nothing, and names that message and the commit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from controller.emulator.refusal import RefusedError
from controller.emulator.state import State
from controller.openflow.codes import ErrorCode

IDLE_S = 10.0


class Change(Protocol):
    """A checked request."""

    def apply(self, state: State, now: float) -> None:
        """Raises RefusedError, and has changed nothing then."""


@dataclass(slots=True)
class Added:
    """``message`` is the message that added it. What cannot be taken back has a ``prepare``, given
    the flags of the commit: it is checked with the others, and done after them."""

    message: bytes
    change: Change
    prepare: Callable[[int], None] | None = None


@dataclass(slots=True)
class Bundle:
    flags: int
    used: float
    closed: bool = False
    added: list[Added] = field(default_factory=list)


def open_bundle(bundles: dict[int, Bundle], bundle_id: int, flags: int, now: float) -> None:
    if bundles.pop(bundle_id, None) is not None:
        raise RefusedError(ErrorCode.BUNDLE_FAILED_BAD_ID)
    bundles[bundle_id] = Bundle(flags, now)


def close_bundle(bundles: dict[int, Bundle], bundle_id: int, flags: int, now: float) -> None:
    bundle = _find(bundles, bundle_id)
    if bundle.closed:
        del bundles[bundle_id]
        raise RefusedError(ErrorCode.BUNDLE_FAILED_BUNDLE_CLOSED)
    if bundle.flags != flags:
        del bundles[bundle_id]
        raise RefusedError(ErrorCode.BUNDLE_FAILED_BAD_FLAGS)
    bundle.closed = True
    bundle.used = now


def discard_bundle(bundles: dict[int, Bundle], bundle_id: int) -> None:
    _find(bundles, bundle_id)
    del bundles[bundle_id]


def add_to_bundle(
    bundles: dict[int, Bundle], bundle_id: int, flags: int, added: Added, now: float
) -> None:
    """An unknown bundle is opened."""
    bundle = bundles.get(bundle_id)
    if bundle is None:
        bundle = bundles[bundle_id] = Bundle(flags, now)
    elif bundle.closed:
        del bundles[bundle_id]
        raise RefusedError(ErrorCode.BUNDLE_FAILED_BUNDLE_CLOSED)
    elif bundle.flags != flags:
        del bundles[bundle_id]
        raise RefusedError(ErrorCode.BUNDLE_FAILED_BAD_FLAGS)
    bundle.used = now
    bundle.added.append(added)


@dataclass(frozen=True, slots=True)
class CommitFailure:
    """The message that could not be applied, and why."""

    message: bytes
    refused: RefusedError


def commit_bundle(
    state: State, bundles: dict[int, Bundle], bundle_id: int, flags: int, now: float
) -> CommitFailure | None:
    """All or nothing; the bundle is gone in any case. RefusedError where there is none to commit,
    or with other flags."""
    bundle = _find(bundles, bundle_id)
    del bundles[bundle_id]
    if bundle.flags != flags:
        raise RefusedError(ErrorCode.BUNDLE_FAILED_BAD_FLAGS)
    state.begin()
    for added in bundle.added:
        try:
            if added.prepare is None:
                added.change.apply(state, now)
            else:
                added.prepare(flags)
        except RefusedError as refused:
            state.roll_back()
            return CommitFailure(added.message, refused)
    state.commit()
    for added in bundle.added:
        if added.prepare is not None:
            added.change.apply(state, now)
    return None


def _find(bundles: dict[int, Bundle], bundle_id: int) -> Bundle:
    bundle = bundles.get(bundle_id)
    if bundle is None:
        raise RefusedError(ErrorCode.BUNDLE_FAILED_BAD_ID)
    return bundle
