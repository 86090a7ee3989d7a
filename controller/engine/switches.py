"""What the engine knows of each switch's session and tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from controller.dataplane.tables import SwitchTables
from controller.openflow.decode import Description

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
    """``installed`` is None whenever it is not known for certain. ``trouble`` is what keeps the
    switch from being in sync; ``last_error`` stays, so that one that comes and goes tells why."""

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
    trouble: str = ""
    last_error: str = ""
    last_error_s: float = 0.0
    description: Description | None = None
    failures: int = 0
    retry_at_s: float = 0.0
    missing_ports: tuple[int, ...] = field(default=())
    ports: dict[int, bool] = field(default_factory=dict)
    """Whether each is live, of those that it last said that it has, in the topology or not."""
    read_at_s: float = 0.0
    audited: bool = False
    """A read-back is under way that only checks; it counts if no batch was sent since this one."""
    audited_at_batch: int = 0
    filled: bool = False
    """Known to have had rules in this session: one that has lost power comes back without."""

    @property
    def connected(self) -> bool:
        return self.state is not SwitchState.ABSENT

    def connect(self, session: int, openflow: str, peer: str, now: float) -> None:
        self.session, self.openflow, self.peer = session, openflow, peer
        self.state, self.installed, self.since_s = SwitchState.READING, None, now
        self.audited = self.filled = False
        # Another switch may stand in its place now.
        self.description = None
        self.connects += 1

    def disconnect(self, reason: str, now: float) -> None:
        self.state, self.installed, self.since_s = SwitchState.ABSENT, None, now
        self.filled = False
        self._note(reason, now)

    def read(self, tables: SwitchTables, foreign: int) -> None:
        self.installed, self.foreign = tables, foreign
        self.filled |= bool(tables.flows)
        self.state = SwitchState.INSTALLING

    def fail(self, error: str, now: float) -> None:
        """What it holds is no longer known; it is read again, each time after a longer pause."""
        self.state, self.installed = SwitchState.FAILED, None
        self._note(error, now)
        self.retry_at_s = now + min(RETRY_FIRST_S * 2**self.failures, RETRY_MAX_S)
        self.failures += 1

    def settle(self, tables: SwitchTables) -> None:
        self.installed, self.state = tables, SwitchState.IN_SYNC
        self.filled = True
        self.failures, self.trouble = 0, ""

    def _note(self, error: str, now: float) -> None:
        self.trouble = self.last_error = error
        self.last_error_s = now
