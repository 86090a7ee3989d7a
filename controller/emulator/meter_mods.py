"""Meter modifications. They are no part of bundles, so nothing takes them back."""

from __future__ import annotations

from controller.emulator.meters import MeterEntry
from controller.emulator.refusal import RefusedError
from controller.emulator.state import State
from controller.emulator.validation import MAX_METER
from controller.openflow.codes import ErrorCode
from controller.openflow.messages import (
    MeterCommand,
    MeterFlag,
    MeterMod,
    RemarkBand,
    RemovedReason,
)
from controller.openflow.model import ALL_METERS

_SLOW_PATH, _CONTROLLER = 0xFFFFFFFD, 0xFFFFFFFE
_BOTH_UNITS = (MeterFlag.KBPS | MeterFlag.PKTPS).value
_KNOWN_FLAGS = (MeterFlag.KBPS | MeterFlag.PKTPS | MeterFlag.BURST | MeterFlag.STATS).value


def apply_meter_mod(state: State, mod: MeterMod, now: float) -> None:
    """Raises RefusedError."""
    if mod.command > MeterCommand.DELETE:
        raise RefusedError(ErrorCode.METER_MOD_FAILED_BAD_COMMAND)
    if mod.command == MeterCommand.DELETE:
        _delete(state, mod.meter_id)
        return
    if mod.flags & _BOTH_UNITS == _BOTH_UNITS:
        raise RefusedError(ErrorCode.METER_MOD_FAILED_BAD_FLAGS)
    meter_id = mod.meter_id
    if not meter_id or (meter_id > MAX_METER and meter_id not in (_SLOW_PATH, _CONTROLLER)):
        raise RefusedError(ErrorCode.METER_MOD_FAILED_INVALID_METER)
    if len(mod.bands) > state.persona.max_bands:
        raise RefusedError(ErrorCode.METER_MOD_FAILED_OUT_OF_BANDS)
    meter = state.meters.get(meter_id)
    if mod.command == MeterCommand.ADD and meter is not None:
        raise RefusedError(ErrorCode.METER_MOD_FAILED_METER_EXISTS)
    if mod.command == MeterCommand.MODIFY and meter is None:
        raise RefusedError(ErrorCode.METER_MOD_FAILED_UNKNOWN_METER)
    if meter is None and len(state.meters) >= state.persona.max_meters:
        raise RefusedError(ErrorCode.METER_MOD_FAILED_OUT_OF_METERS)
    if not mod.flags & _BOTH_UNITS:
        raise RefusedError(ErrorCode.METER_MOD_FAILED_BAD_FLAGS)
    if not mod.bands:
        raise RefusedError(ErrorCode.METER_MOD_FAILED_OUT_OF_BANDS)
    if any(not band.rate for band in mod.bands):
        raise RefusedError(ErrorCode.METER_MOD_FAILED_BAD_RATE)
    if mod.flags & ~_KNOWN_FLAGS:
        raise RefusedError(ErrorCode.METER_MOD_FAILED_BAD_FLAGS)
    if any(isinstance(band, RemarkBand) for band in mod.bands):
        raise RefusedError(ErrorCode.METER_MOD_FAILED_BAD_BAND)
    if meter is None:
        state.meters[meter_id] = MeterEntry.of(meter_id, mod.flags, mod.bands, now)
    else:
        meter.redefine(mod.flags, mod.bands, now)


def _delete(state: State, meter_id: int) -> None:
    """And the flows that use it."""
    doomed = list(state.meters) if meter_id == ALL_METERS else [meter_id]
    for number in doomed:
        if state.meters.pop(number, None) is not None:
            for entry in state.users_of_meter(number):
                state.remove(entry, RemovedReason.METER_DELETE)
