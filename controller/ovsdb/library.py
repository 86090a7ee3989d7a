"""The Open vSwitch project's Python library, as much of it as is used.

It looks whether eventlet has replaced ``select``, and so imports it, which warns.
"""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from ovs.db.idl import Idl, SchemaHelper, Transaction
    from ovs.poller import POLLIN, Poller
    from ovs.stream import Stream
    from ovs.timeval import msec

__all__ = ["POLLIN", "Idl", "Poller", "SchemaHelper", "Stream", "Transaction", "msec"]
