"""Group modifications."""

from __future__ import annotations

from controller.emulator.groups import GroupEntry
from controller.emulator.refusal import RefusedError
from controller.emulator.state import State
from controller.emulator.validation import check_bucket, port_exists
from controller.openflow.codes import ErrorCode
from controller.openflow.messages import GroupCommand, GroupMod, Selection
from controller.openflow.model import (
    ALL_BUCKETS,
    ALL_GROUPS,
    FIRST_BUCKET,
    LAST_BUCKET,
    Bucket,
    GroupType,
)

MAX_GROUP = 0xFFFFFF00
_MAX_BUCKET = 0xFFFFFF00
_ADD_OR_MODIFY = 0x8000
_WRITES = (GroupCommand.ADD, GroupCommand.MODIFY, _ADD_OR_MODIFY)
_VERSION_1_5 = 6


class CheckedGroupMod:
    """As a checked flow modification: makes sense by itself."""

    __slots__ = ("_kind", "_mod")

    def __init__(self, state: State, mod: GroupMod, version: int) -> None:
        """Raises RefusedError."""
        self._mod = mod
        if version >= _VERSION_1_5:
            _check_command_bucket(mod)
        for bucket in mod.buckets:
            check_bucket(bucket.actions, version, state.persona)
            if bucket.watch_port is not None and not port_exists(bucket.watch_port):
                raise RefusedError(ErrorCode.GROUP_MOD_FAILED_BAD_WATCH)
            if bucket.id > _MAX_BUCKET:
                raise RefusedError(ErrorCode.GROUP_MOD_FAILED_BAD_BUCKET)
        if len({bucket.id for bucket in mod.buckets}) < len(mod.buckets):
            raise RefusedError(ErrorCode.GROUP_MOD_FAILED_BAD_BUCKET)
        if mod.selection is not None:
            _check_selection(mod, mod.selection, state)
        if version < _VERSION_1_5 and mod.command == GroupCommand.DELETE and mod.buckets:
            raise RefusedError(ErrorCode.GROUP_MOD_FAILED_INVALID_GROUP)
        self._kind = _check(mod)

    def apply(self, state: State, now: float) -> None:
        """Raises RefusedError, and has changed nothing then."""
        mod = self._mod
        command = mod.command
        if command == GroupCommand.DELETE:
            self._delete(state)
            return
        old = state.groups.get(mod.group_id)
        if command == GroupCommand.ADD and old is not None:
            raise RefusedError(ErrorCode.GROUP_MOD_FAILED_GROUP_EXISTS)
        if command not in (GroupCommand.ADD, _ADD_OR_MODIFY) and old is None:
            raise RefusedError(ErrorCode.GROUP_MOD_FAILED_UNKNOWN_GROUP)
        if old is None and len(state.groups) >= state.persona.max_groups:
            raise RefusedError(ErrorCode.GROUP_MOD_FAILED_OUT_OF_GROUPS)
        if mod.group_id > MAX_GROUP:
            raise RefusedError(ErrorCode.GROUP_MOD_FAILED_INVALID_GROUP)
        kind, selection, buckets = self._kind, mod.selection, mod.buckets
        if old is not None and command not in _WRITES:
            kind, selection = old.type, old.selection
            buckets = _edited(old.definition, mod)
        if len(buckets) > state.persona.max_buckets:
            raise RefusedError(ErrorCode.GROUP_MOD_FAILED_OUT_OF_BUCKETS)
        group = GroupEntry(mod.group_id, kind, buckets, selection, now)
        if old is not None:
            group.created = old.created
        state.put_group(group)

    def _delete(self, state: State) -> None:
        if self._mod.group_id == ALL_GROUPS:
            for group in state.groups.all():
                state.remove_group(group)
            return
        found = state.groups.get(self._mod.group_id)
        if found is not None:
            state.remove_group(found)


def _check_command_bucket(mod: GroupMod) -> None:
    wanted = mod.command_bucket_id
    if mod.command in (GroupCommand.INSERT_BUCKET, GroupCommand.REMOVE_BUCKET):
        fits = wanted <= _MAX_BUCKET or wanted in (FIRST_BUCKET, LAST_BUCKET)
        fits = fits or (mod.command == GroupCommand.REMOVE_BUCKET and wanted == ALL_BUCKETS)
    else:
        fits = wanted == ALL_BUCKETS
    if not fits:
        raise RefusedError(ErrorCode.GROUP_MOD_FAILED_BAD_BUCKET)


def _check_selection(mod: GroupMod, selection: Selection, state: State) -> None:
    if not state.persona.selection:
        raise RefusedError(ErrorCode.BAD_PROPERTY_BAD_EXPERIMENTER)
    if mod.type > GroupType.FAST_FAILOVER:
        raise RefusedError(ErrorCode.GROUP_MOD_FAILED_BAD_TYPE)
    if mod.type != GroupType.SELECT:
        raise RefusedError(ErrorCode.BAD_PROPERTY_BAD_VALUE)
    if mod.command not in _WRITES:
        known = mod.command in tuple(GroupCommand)
        raise RefusedError(
            ErrorCode.BAD_PROPERTY_BAD_VALUE if known else ErrorCode.GROUP_MOD_FAILED_BAD_COMMAND
        )
    if selection.method not in ("hash", "dp_hash"):
        raise RefusedError(ErrorCode.BAD_PROPERTY_BAD_VALUE)
    if selection.method == "dp_hash" and selection.fields:
        raise RefusedError(ErrorCode.BAD_PROPERTY_BAD_VALUE)


def _check(mod: GroupMod) -> GroupType:
    if mod.type > GroupType.FAST_FAILOVER:
        raise RefusedError(ErrorCode.GROUP_MOD_FAILED_BAD_TYPE)
    kind = GroupType(mod.type)
    if kind is GroupType.INDIRECT and mod.command != GroupCommand.DELETE and len(mod.buckets) != 1:
        raise RefusedError(ErrorCode.GROUP_MOD_FAILED_INVALID_GROUP)
    if mod.command == GroupCommand.REMOVE_BUCKET and mod.buckets:
        raise RefusedError(ErrorCode.GROUP_MOD_FAILED_BAD_BUCKET)
    if mod.command not in tuple(GroupCommand) and mod.command != _ADD_OR_MODIFY:
        raise RefusedError(ErrorCode.GROUP_MOD_FAILED_BAD_COMMAND)
    for bucket in mod.buckets:
        if (
            bucket.weight
            and kind is not GroupType.SELECT
            and mod.command != GroupCommand.INSERT_BUCKET
        ):
            raise RefusedError(ErrorCode.GROUP_MOD_FAILED_INVALID_GROUP)
        watched = bucket.watch_port is not None or bucket.watch_group is not None
        if watched and kind in (GroupType.ALL, GroupType.INDIRECT):
            raise RefusedError(ErrorCode.GROUP_MOD_FAILED_WATCH_UNSUPPORTED)
        if not watched and kind is GroupType.FAST_FAILOVER:
            raise RefusedError(ErrorCode.GROUP_MOD_FAILED_INVALID_GROUP)
    return kind


def _edited(old: tuple[Bucket, ...], mod: GroupMod) -> tuple[Bucket, ...]:
    """The buckets after some are inserted, or removed."""
    wanted = mod.command_bucket_id
    ids = [bucket.id for bucket in old]
    named = wanted not in (FIRST_BUCKET, LAST_BUCKET, ALL_BUCKETS)
    if named and wanted not in ids:
        raise RefusedError(ErrorCode.GROUP_MOD_FAILED_UNKNOWN_BUCKET)
    if mod.command == GroupCommand.REMOVE_BUCKET:
        if wanted == ALL_BUCKETS:
            return ()
        if wanted == FIRST_BUCKET:
            return old[1:]
        if wanted == LAST_BUCKET:
            return old[:-1]
        return tuple(bucket for bucket in old if bucket.id != wanted)
    if {bucket.id for bucket in mod.buckets} & set(ids):
        raise RefusedError(ErrorCode.GROUP_MOD_FAILED_BUCKET_EXISTS)
    if wanted == FIRST_BUCKET:
        at = 0
    elif wanted == LAST_BUCKET:
        at = len(old)
    else:
        at = ids.index(wanted) + 1
    return old[:at] + mod.buckets + old[at:]
