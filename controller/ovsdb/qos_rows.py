"""Rows of QoS and Queue in a replica: read, made, changed in place, removed.

Only what carries Heald's mark is ever changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.ovsdb.library import Transaction
from controller.ovsdb.queues import OURS
from controller.ovsdb.rows import MARK, QosRow, QueueRow


def qos_of(port: Any) -> QosRow | None:
    if not port.qos:
        return None
    row = port.qos[0]
    queues = {number: _queue_of(queue) for number, queue in row.queues.items()}
    return QosRow(row.type, dict(row.other_config), queues, _is_ours(row))


def _queue_of(row: Any) -> QueueRow:
    return QueueRow(dict(row.other_config), dict(row.external_ids))


def set_qos(transaction: Transaction, port: Any, wanted: QosRow | None) -> None:
    """The kernel's queues of a port last as long as its QoS row; so rows are kept where they can
    be."""
    port.verify("qos")
    row = port.qos[0] if port.qos else None
    if row is not None and not _is_ours(row):
        return  # Somebody else's, since this was asked for.
    if wanted is None:
        if row is not None:
            port.qos = []
            for queue in row.queues.values():
                _remove(queue)
            row.delete()
        return
    old: Mapping[int, Any] = {} if row is None else dict(row.queues)
    if row is None:
        row = transaction.insert(transaction.idl.tables["QoS"])
        port.qos = [row]
        row.external_ids = {MARK: OURS}
    _set(row, "type", wanted.kind)
    _set(row, "other_config", wanted.config)
    queues = {}
    for number, asked in wanted.queues.items():
        queue = old.get(number)
        if queue is None or not (_is_ours(queue) or _queue_of(queue) == asked):
            queue = transaction.insert(transaction.idl.tables["Queue"])
        _set(queue, "other_config", asked.config)
        _set(queue, "external_ids", asked.ids)
        queues[number] = queue
    if old != queues:
        row.queues = queues
    for number, queue in old.items():
        if queues.get(number) is not queue:
            _remove(queue)


def _remove(queue: Any) -> None:
    if _is_ours(queue):
        queue.delete()


def _set(row: Any, column: str, value: Any) -> None:
    # A row that has just been made has no columns yet.
    if getattr(row, column, None) != value:
        setattr(row, column, dict(value) if isinstance(value, Mapping) else value)


def _is_ours(row: Any) -> bool:
    return bool(row.external_ids.get(MARK) == OURS)
