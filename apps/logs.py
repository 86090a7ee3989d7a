"""How this process logs: one line an event, in the format of the brain, which logs beside it."""

from __future__ import annotations

import logging

FORMAT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"


def quieten() -> None:
    """Ryu tells of each app that it loads."""
    logging.getLogger("ryu.base.app_manager").setLevel(logging.WARNING)


def configure() -> None:
    """Give the handlers that ryu-manager made a readable format; those of the user keep theirs."""
    for handler in logging.getLogger().handlers:
        if handler.formatter is None:
            handler.setFormatter(logging.Formatter(FORMAT))
