"""What a switch says no with."""

from __future__ import annotations

from controller.openflow.codes import ErrorCode

NICIRA = 0x2320
EXPERIMENTER_ERROR = 0xFFFF


class RefusedError(Exception):
    """A request that is answered by an error. ``experimenter`` is set for an extension's code."""

    def __init__(self, code: ErrorCode | tuple[int, int], experimenter: int | None = None) -> None:
        super().__init__(code.name if isinstance(code, ErrorCode) else f"{code[0]}/{code[1]}")
        self.type, self.code = code.value if isinstance(code, ErrorCode) else code
        self.experimenter = experimenter
