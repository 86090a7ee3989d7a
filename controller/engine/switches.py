"""What the engine knows of each switch's session and tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from controller.dataplane.tables import SwitchTables

RETRY_FIRST_S = 1.0
RETRY_MAX_S = 30.0


class SwitchState(Enum):
    """ABSENT has no session, READING waits for what the switch holds, HELD has rules of which this
    controller knows nothing, FAILED refused a change and is read again after a pause."""

    ABSENT = "absent"
    READING = "reading"
    HELD = "held"
    INSTALLING = "installing"
    IN_SYNC = "in-sync"
    FAILED = "failed"


@dataclass(slots=True)
class SwitchRecord:
    """``installed`` is None whenever it is not known for certain."""

    name: str
    session: int = 0
    state: SwitchState = SwitchState.ABSENT
    installed: SwitchTables | None = None
    foreign: int = 0
    openflow: str = ""
    peer: str = ""
    connects: int = 0
    since_s: float = 0.0
    messages_sent: int = 0
    last_error: str = ""
    failures: int = 0
    retry_at_s: float = 0.0
    missing_ports: tuple[int, ...] = field(default=())

    @property
    def connected(self) -> bool:
        return self.state is not SwitchState.ABSENT

    def connect(self, session: int, openflow: str, peer: str, now: float) -> None:
        self.session, self.openflow, self.peer = session, openflow, peer
        self.state, self.installed, self.since_s = SwitchState.READING, None, now
        self.connects += 1

    def disconnect(self, reason: str, now: float) -> None:
        self.state, self.installed, self.since_s = SwitchState.ABSENT, None, now
        self.last_error = reason

    def read(self, tables: SwitchTables, foreign: int) -> None:
        self.installed, self.foreign = tables, foreign
        self.state = SwitchState.INSTALLING

    def fail(self, error: str, now: float) -> None:
        """What it holds is no longer known; it is read again, each time after a longer pause."""
        self.state, self.installed, self.last_error = SwitchState.FAILED, None, error
        self.retry_at_s = now + min(RETRY_FIRST_S * 2**self.failures, RETRY_MAX_S)
        self.failures += 1

    def settle(self, tables: SwitchTables) -> None:
        self.installed, self.state = tables, SwitchState.IN_SYNC
        self.failures, self.last_error = 0, ""
