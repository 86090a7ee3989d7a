"""Heald's generated API stubs, its client library, and the one name that is surely ours."""

__version__ = "0.1.0"
