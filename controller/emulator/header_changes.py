"""Which bits of a packet's headers actions change, and by which."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from controller.emulator import headers as h
from controller.openflow.model import (
    Action,
    ApplyActions,
    CopyField,
    DecTtl,
    PopVlan,
    PushVlan,
    SetField,
    SetTtl,
    WriteActions,
)

_TAGS = 0
for _place in (*h.VLANS, *h.VLAN_TPIDS):
    _TAGS |= _place.mask


def flat(doing: Iterable[Any]) -> Iterable[Action]:
    for each in doing:
        if isinstance(each, ApplyActions | WriteActions):
            yield from each.actions
        else:
            yield each


def own_bits(action: SetField) -> int:
    place = h.PLACES[action.field]
    return (place.ones if action.mask is None else action.mask) << place.shift


def changed_by(action: Action) -> int:
    """The bits that an action changes, and those that it does so by."""
    if isinstance(action, CopyField):
        source = h.PLACES[action.source].part(action.source_offset, action.bits)
        return source.mask | h.PLACES[action.target].part(action.target_offset, action.bits).mask
    if isinstance(action, DecTtl | SetTtl):
        return h.IP_TTL.mask
    if isinstance(action, PushVlan | PopVlan):
        return _TAGS
    return 0
