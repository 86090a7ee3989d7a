"""Bundles: OpenFlow 1.4's messages, in 1.3 the ONF's extension 230 of the same shape."""

from __future__ import annotations

from struct import Struct

from controller.openflow.codes import ErrorCode
from controller.openflow.messages import BundleAdd, BundleControl
from controller.openflow.structures.layout import constant, pad, rest, u16, u32, until
from controller.openflow.structures.record import Record
from controller.openflow.structures.tagged import properties
from controller.openflow.wire import HEADER_BYTES

ONF = 0x4F4E4600
CONTROL_TYPE, ADD_TYPE = 2300, 2301

_LENGTH = Struct("!2xH4x")

BUNDLE_CONTROL = Record(
    BundleControl,
    *until(4, constant("I", ONF), constant("I", CONTROL_TYPE)),
    u32("bundle_id"),
    u16("command"),
    u16("flags"),
    properties(),
)


def _check_request(message: BundleAdd) -> None:
    request = message.request
    if len(request) < HEADER_BYTES or _LENGTH.unpack_from(request)[0] != len(request):
        raise ValueError(f"bundle holds {len(request)} bytes that are no whole message")


BUNDLE_ADD = Record(
    BundleAdd,
    *until(4, constant("I", ONF), constant("I", ADD_TYPE)),
    u32("bundle_id"),
    pad(2),
    u16("flags"),
    rest("request"),
    check=_check_request,
    refusal=ErrorCode.BUNDLE_FAILED_MSG_BAD_LEN,
)
