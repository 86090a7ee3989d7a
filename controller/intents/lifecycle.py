"""Which state of an intent may follow which, and why it is in one.

A new plan for an intent that works leaves it ACTIVE: updates are make-before-break, so nothing
that its owner could notice is being installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum

from controller.intents.model import IntentState, IntentStatus

_S = IntentState

TRANSITIONS: Mapping[IntentState, frozenset[IntentState]] = {
    _S.PENDING: frozenset({_S.PLANNED, _S.DEGRADED, _S.REJECTED, _S.WITHDRAWING}),
    _S.PLANNED: frozenset(
        {_S.PENDING, _S.INSTALLING, _S.ACTIVE, _S.DEGRADED, _S.REJECTED, _S.WITHDRAWING}
    ),
    _S.INSTALLING: frozenset(
        {_S.PENDING, _S.PLANNED, _S.ACTIVE, _S.DEGRADED, _S.REJECTED, _S.WITHDRAWING}
    ),
    _S.ACTIVE: frozenset(
        {_S.PENDING, _S.PLANNED, _S.INSTALLING, _S.DEGRADED, _S.REJECTED, _S.WITHDRAWING}
    ),
    _S.DEGRADED: frozenset(
        {_S.PENDING, _S.PLANNED, _S.INSTALLING, _S.ACTIVE, _S.REJECTED, _S.WITHDRAWING}
    ),
    _S.REJECTED: frozenset({_S.PENDING, _S.PLANNED, _S.DEGRADED, _S.WITHDRAWING}),
    _S.WITHDRAWING: frozenset({_S.PENDING, _S.GONE}),
    _S.GONE: frozenset(),
}
"""PENDING follows everything but GONE, since its owner may change the spec at any time; from
WITHDRAWING that cancels the withdrawal."""


class Reason(str, Enum):
    """Reason codes; part of the northbound contract, so a code is added but never changed."""

    ACCEPTED = "Accepted"  # PENDING: durable, no plan has it yet
    PLANNED = "Planned"  # PLANNED: a plan carries it
    INSTALLING = "Installing"  # INSTALLING: switches are being changed
    INSTALLED = "Installed"  # ACTIVE: every switch it needs has acknowledged
    SWITCH_UNREACHABLE = "SwitchUnreachable"  # DEGRADED: a switch it needs has no session
    SWITCH_FAILED = "SwitchFailed"  # DEGRADED: a switch refused what it was sent
    UNROUTABLE = "Unroutable"  # DEGRADED, REJECTED: some endpoints have no path between them
    UNKNOWN_ENDPOINT = "UnknownEndpoint"  # DEGRADED: the topology lost a name that it uses
    NO_ENDPOINTS = "NoEndpoints"  # REJECTED: fewer than two endpoints are left
    CONSTRAINED = "Constrained"  # DEGRADED, REJECTED: no path keeps to its include and avoid
    TOO_SLOW = "LatencyTooHigh"  # DEGRADED, REJECTED: no path is within its latency
    NOT_DISJOINT = "NotDisjoint"  # DEGRADED, REJECTED: no backup is as disjoint as asked
    NO_CAPACITY = "InsufficientCapacity"  # DEGRADED, REJECTED: such paths are full
    LIMIT_EXCEEDED = "LimitExceeded"  # REJECTED: labels, zones or tables are full
    DELETED = "Deleted"  # WITHDRAWING: rules are being removed
    REMOVED = "Removed"  # GONE: no switch holds a rule for it


class IllegalTransitionError(ValueError):
    """A state was to follow one that it may not follow."""


def advance(old: IntentStatus, new: IntentStatus, now_s: float) -> IntentStatus:
    """``new``, stamped with the time of the change of state: ``old``'s while the state stays.

    Raises IllegalTransitionError when ``new.state`` may not follow ``old.state``.
    """
    if new.state is old.state:
        return replace(new, transition_time_s=old.transition_time_s)
    if new.state not in TRANSITIONS[old.state]:
        raise IllegalTransitionError(f"{new.state.value} may not follow {old.state.value}")
    return replace(new, transition_time_s=now_s)
