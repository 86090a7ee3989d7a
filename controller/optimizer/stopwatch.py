"""Seconds that a method took, for its certificate. Nothing is decided by them, so equal inputs give
equal answers."""

from time import perf_counter as now

__all__ = ["now"]
