"""The error message of an error code, in each version."""

from __future__ import annotations

from controller.openflow.codes import ErrorCode
from controller.openflow.messages import Error

_EXPERIMENTER = 0xFFFF
_ONF = 0x4F4E4600
_BUNDLE_FAILED = 17
# The ONF's extensions 230 and 260 number for OpenFlow 1.3 what 1.4 brought.
_BUNDLE_FAILED_1_3 = 2300
_DUP_INST_1_3 = 2600


def refusal(code: ErrorCode, version: int, request: bytes) -> Error:
    """``request`` is the message that is refused; an error shows its first 64 bytes."""
    kind, number = code.value
    data = request[:64]
    if version < 5 and kind == _BUNDLE_FAILED:
        return Error(_EXPERIMENTER, _BUNDLE_FAILED_1_3 + number, data, _ONF)
    if version < 5 and code is ErrorCode.BAD_INSTRUCTION_DUP_INST:
        return Error(_EXPERIMENTER, _DUP_INST_1_3, data, _ONF)
    return Error(kind, number, data)
