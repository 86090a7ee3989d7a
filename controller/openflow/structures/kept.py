"""Values that are encoded again and again: what a switch holds, each time that it is asked."""

from __future__ import annotations

from typing import Any

from controller.openflow.structures.layout import Codec, Structure

_MOST = 1 << 16


class Kept:
    """A structure whose values never change: the bytes of each are kept with it."""

    def __init__(self, structure: Structure) -> None:
        self._structure = structure

    def at(self, version: int) -> Codec:
        return _KeptCodec(self._structure.at(version))


class _KeptCodec:
    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        # By identity, as hashing a value costs as much as encoding it. The value is kept too: no
        # other one can be where it was.
        self._known: dict[int, tuple[Any, bytes]] = {}

    def encode(self, value: Any) -> bytes:
        known = self._known.get(id(value))
        if known is not None:
            return known[1]
        encoded = self._codec.encode(value)
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[id(value)] = value, encoded
        return encoded

    def decode(self, buffer: bytes, at: int, end: int) -> tuple[Any, int]:
        return self._codec.decode(buffer, at, end)
