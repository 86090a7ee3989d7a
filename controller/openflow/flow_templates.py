"""Flow-mods of few shapes by the thousand, as templates: the values are packed into one
:class:`struct.Struct` that holds the rest as constants.

The shape of a flow-mod is its match fields with their masks, and everything else but cookie, table,
priority and the values matched.
"""

from __future__ import annotations

from operator import attrgetter
from struct import Struct
from struct import error as struct_error

from controller.openflow.codec import encode
from controller.openflow.messages import FlowMod
from controller.openflow.model import Field

_MOST_SHAPES = 4096
# Where a flow-mod has them.
_COOKIE, _TABLE, _PRIORITY, _MATCH = 8, 24, 30, 48
_FIELD_HEADER = 4

_SHAPE = attrgetter(
    "instructions",
    "command",
    "cookie_mask",
    "idle_timeout",
    "hard_timeout",
    "flags",
    "importance",
    "out_port",
    "out_group",
    "buffer_id",
)

# A value of six or sixteen bytes is two numbers; odd sizes are not worth a template.
_FORMS = {1: "B", 2: "H", 4: "I", 8: "Q", 6: "HI", 16: "QQ"}
_SPLITS = {6: (32, 0xFFFFFFFF), 16: (64, 0xFFFFFFFFFFFFFFFF)}
_SIZES = {f: f.bytes for f in Field}
_LIMITS = {f: f.all_ones for f in Field}


class _Template:
    def __init__(self, raw: bytes, message: FlowMod) -> None:
        constants = [raw[:4]]
        at = _COOKIE + 8
        form = f"!4sIQ{_TABLE - at}sB{_PRIORITY - _TABLE - 1}sH"
        constants += [raw[at:_TABLE], raw[_TABLE + 1 : _PRIORITY]]
        at = _PRIORITY + 2
        self.limits = []
        self.splits: list[tuple[int, int] | None] = []
        value_at = _MATCH + 4
        for entry in message.match.fields:
            size = _SIZES[entry.field]
            value_at += _FIELD_HEADER
            form += f"{value_at - at}s{_FORMS[size]}"
            constants.append(raw[at:value_at])
            at = value_at = value_at + size
            if entry.mask is not None:
                value_at += size
            outside = _LIMITS[entry.field] if entry.mask is None else entry.mask
            self.limits.append(~outside)
            self.splits.append(_SPLITS.get(size))
        self.struct = Struct(form + f"{len(raw) - at}s")
        self.constants = constants
        self.tail = raw[at:]

    def encode(self, message: FlowMod, xid: int) -> bytes:
        head, before_table, before_priority, *between = self.constants
        out: list[int | bytes] = [
            head,
            xid,
            message.cookie,
            before_table,
            message.table,
            before_priority,
            message.priority,
        ]
        for entry, constant, outside, split in zip(
            message.match.fields, between, self.limits, self.splits, strict=True
        ):
            value = entry.value
            if value & outside:
                raise ValueError(f"{entry.field.name}={value:#x} does not fit its field or mask")
            out.append(constant)
            if split is None:
                out.append(value)
            else:
                out.append(value >> split[0])
                out.append(value & split[1])
        out.append(self.tail)
        try:
            return self.struct.pack(*out)
        except struct_error as problem:
            raise ValueError(f"{problem}: {message}") from None


class FlowModEncoder:
    """``encode`` for flow-mods of one version; holds the shapes that it has seen, 4,096 at most."""

    def __init__(self, version: int) -> None:
        self._version = version
        self._templates: dict[object, _Template] = {}

    def encode(self, message: FlowMod, xid: int = 0) -> bytes:
        """The same bytes as :func:`controller.openflow.codec.encode`."""
        fields = message.match.fields
        key = (
            tuple([f.field for f in fields]),
            tuple([f.mask for f in fields]),
            _SHAPE(message),
        )
        template = self._templates.get(key)
        if template is None:
            raw = encode(message, self._version, xid)
            if all(_SIZES[f.field] in _FORMS for f in fields):
                if len(self._templates) >= _MOST_SHAPES:
                    self._templates.clear()
                self._templates[key] = _Template(raw, message)
            return raw
        return template.encode(message, xid)
