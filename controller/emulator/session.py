"""One controller's connection: version, role, what it wants to be told, and what is said to it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from controller.emulator.bundles import Bundle
from controller.emulator.refusal import EXPERIMENTER_ERROR, RefusedError
from controller.openflow.messages import AsyncEvent, AsyncMask, Role

VERSION_1_3, VERSION_1_4, VERSION_1_5 = 4, 5, 6
ERROR_DATA = 0xFFFF - 16
"""An error holds the request that it answers: all of it, as far as there is room."""
_ONF = 0x4F4E4600

_PACKET_IN = 0b111011  # all reasons but an invalid TTL
_PORT_STATUS = 0b111
_FLOW_REMOVED = 0b111111
_FLOW_REMOVED_1_3 = 0b1111


def default_masks(version: int) -> dict[int, int]:
    """By event, a bit for each reason: controllers with the secondary role hear of ports alone."""
    masks = dict.fromkeys(range(12), 0)
    masks[AsyncEvent.PACKET_IN_PRIMARY] = _PACKET_IN if version > VERSION_1_3 else 0b011
    masks[AsyncEvent.PORT_STATUS_PRIMARY] = _PORT_STATUS
    masks[AsyncEvent.PORT_STATUS_SECONDARY] = _PORT_STATUS
    masks[AsyncEvent.FLOW_REMOVED_PRIMARY] = (
        _FLOW_REMOVED if version > VERSION_1_3 else _FLOW_REMOVED_1_3
    )
    return masks


@dataclass(slots=True)
class Session:
    """``version`` is None until the hellos agree. ``rest`` is a message not received in full."""

    connection: Hashable
    version: int | None = None
    role: Role = Role.EQUAL
    miss_send_len: int = 128
    masks: dict[int, int] = field(default_factory=dict)
    bundles: dict[int, Bundle] = field(default_factory=dict)
    rest: bytes = b""
    out: list[bytes] = field(default_factory=list)

    def agree(self, version: int) -> None:
        self.version = version
        self.masks = default_masks(version)

    def wants(self, event: AsyncEvent, reason: int) -> bool:
        """``event`` is that of controllers with the secondary role; the other follows it."""
        if self.version is None:
            return False
        chosen = event if self.role is Role.SECONDARY else event + 1
        return bool(self.masks.get(chosen, 0) >> reason & 1)

    def async_masks(self) -> tuple[AsyncMask, ...]:
        known = 6 if self.version == VERSION_1_3 else 12
        return tuple(AsyncMask(event, self.masks[event]) for event in range(known))


def agreed_version(
    own: tuple[int, ...], header_version: int, offered: tuple[int, ...] | None
) -> int | None:
    """The version that both sides speak, as OpenFlow has them find it; None if there is none."""
    if offered is None:
        common = [v for v in own if v <= header_version]
        # Without a bitmap a side speaks the version of its header, or what the other says.
        return max(common, default=None) if header_version >= min(own) else None
    return max(set(own) & set(offered), default=None)


def spoken(refused: RefusedError, version: int) -> tuple[int, int, int | None]:
    """(type, code, experimenter) of an error in a version: what a later version added, an earlier
    one says in the ONF's extension."""
    kind, code = refused.type, refused.code
    if refused.experimenter is not None:
        return EXPERIMENTER_ERROR, code, refused.experimenter
    if version < VERSION_1_4 and kind == 17:
        return EXPERIMENTER_ERROR, 2300 + code, _ONF
    if version < VERSION_1_4 and (kind, code) == (3, 9):
        return EXPERIMENTER_ERROR, 2600, _ONF
    if version < VERSION_1_5 and (kind, code) == (2, 16):
        return EXPERIMENTER_ERROR, 4250, _ONF
    return kind, code, None
