"""What goes wrong in a lab, said so that the reader can act on it."""

from __future__ import annotations


class LabError(Exception):
    """A lab cannot be built or used; the text names the thing and the cure."""
