"""Records: members in the order of the wire, compiled for each version."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from struct import Struct
from struct import error as struct_error
from typing import Any

from controller.openflow.codes import ErrorCode
from controller.openflow.structures.layout import Codec, Member, Part, Size, Slot
from controller.openflow.wire import DecodeError

_MISSING = dataclasses.MISSING
_NO_SIZES: dict[str, int] = {}
_UNFIT = (struct_error, OverflowError, TypeError, AttributeError)


class Record:
    """A structure that is an instance of the dataclass ``make``.

    - A name with a dot is an attribute of an attribute, whose class ``nested`` tells.
    - ``ignored`` are attributes that a version without a place for them reads as this value and
      does not write; every other one without a place has its default, or is a ValueError.
    - ``check`` raises ValueError for values that cannot be; ``refusal`` is what that is answered.
    - ``length`` is the error for a wrong length.
    """

    def __init__(
        self,
        make: type[Any],
        *members: Member | tuple[Member, ...],
        length: ErrorCode | None = ErrorCode.BAD_REQUEST_BAD_LEN,
        nested: Mapping[str, type[Any]] | None = None,
        ignored: Mapping[str, Any] | None = None,
        check: Callable[[Any], None] | None = None,
        refusal: ErrorCode | None = None,
    ) -> None:
        self.make = make
        self._members = [
            m for given in members for m in (given if isinstance(given, tuple) else (given,))
        ]
        self.length = length
        self.nested = dict(nested or {})
        self.ignored = dict(ignored or {})
        self.check = check
        self.refusal = refusal
        self._compiled: dict[int, RecordCodec] = {}

    def at(self, version: int) -> RecordCodec:
        if version not in self._compiled:
            members = [m for m in self._members if version in m.versions]
            self._compiled[version] = RecordCodec(self, members, version)
        return self._compiled[version]


class _Block:
    """Neighbouring members of fixed size."""

    def __init__(self, what: str, members: Iterable[Slot | Size]) -> None:
        self.what = what
        form, packed, at = "!", "!", 0
        self.plain: list[tuple[str, int]] = []
        self.mapped: list[tuple[Slot, int, int]] = []
        self.constants: list[tuple[int, Any, ErrorCode | None]] = []
        self.size_of: list[tuple[str, int]] = []
        self.size_at: int | None = None
        self._packed: list[Slot | Size] = []
        for m in members:
            own = "H" if isinstance(m, Size) else m.form
            form += own
            count = len(Struct("!" + own).unpack(bytes(Struct("!" + own).size)))
            if isinstance(m, Slot) and isinstance(m.constant, bytes):
                packed += f"{len(m.constant)}x"
            else:
                packed += own
                self._packed.append(m)
            if isinstance(m, Size):
                if m.name:
                    self.size_of.append((m.name, at))
                else:
                    self.size_at = at
            elif not m.name:
                self.constants.append((at, m.constant, m.code))
            elif m.load is None:
                self.plain.append((m.name, at))
            else:
                self.mapped.append((m, at, at + count))
            at += count
        self.struct = Struct(form)
        self._form = packed

    @cached_property
    def pack(self) -> Callable[[Any, Mapping[str, int], int], bytes]:
        """Bytes of (value, sizes of parts, size of the record); made into one expression, as it is
        evaluated for each bucket of each group of each switch every second."""
        words: dict[str, Any] = {"pack": Struct(self._form).pack}
        said = []
        for i, m in enumerate(self._packed):
            if isinstance(m, Size):
                said.append(f"sizes[{m.name!r}]" if m.name else "size")
            elif not m.name:
                words[f"constant{i}"] = m.constant
                said.append(f"constant{i}")
            elif m.dump is None:
                said.append(f"value.{m.name}")
            else:
                words[f"dump{i}"] = m.dump
                said.append(f"*dump{i}(value.{m.name})")
        made: Callable[[Any, Mapping[str, int], int], bytes] = eval(
            f"lambda value, sizes, size: pack({', '.join(said)})", words
        )
        return made

    def unpack(self, buffer: bytes, at: int, values: dict[str, Any]) -> tuple[Any, ...]:
        raw = self.struct.unpack_from(buffer, at)
        for index, expected, code in self.constants:
            if raw[index] != expected:
                what = "padding that is not 0" if isinstance(expected, bytes) else raw[index]
                raise DecodeError(f"{self.what}: {what} at offset {at}", code)
        for name, index in self.plain:
            values[name] = raw[index]
        for slot, start, stop in self.mapped:
            values[slot.name] = self._load(slot, raw[start:stop], at)
        return raw

    def _load(self, slot: Slot, raw: tuple[Any, ...], at: int) -> Any:
        assert slot.load is not None
        try:
            return slot.load(*raw)
        except DecodeError as problem:
            raise type(problem)(
                f"{self.what}.{slot.name}: {problem} at offset {at}", problem.code
            ) from None
        except ValueError as problem:
            raise DecodeError(
                f"{self.what}.{slot.name}: {problem} at offset {at}", slot.code
            ) from None


class _PartStep:
    def __init__(self, member: Part, version: int, bounded: bool) -> None:
        self.names = member.names
        self.key = member.names[0]
        self.spread = member.spread
        self.bounded = bounded
        self.chosen_by = member.chosen_by
        self._codec = member.structure.at(version)
        self._choices = {k: s.at(version) for k, s in (member.choices or {}).items()}

    def codec(self, choice: int) -> Codec:
        return self._choices.get(choice, self._codec)


class RecordCodec:
    def __init__(self, record: Record, members: list[Member], version: int) -> None:
        self._what = record.make.__name__
        self._record = record
        self._version = version
        bounded = {m.name for m in members if isinstance(m, Size) and m.name}
        self._steps: list[_Block | _PartStep] = []
        for is_part, run in groupby(members, lambda m: isinstance(m, Part)):
            if is_part:
                self._steps += [
                    _PartStep(m, version, m.names[0] in bounded) for m in run if isinstance(m, Part)
                ]
            else:
                self._steps.append(_Block(self._what, [m for m in run if not isinstance(m, Part)]))
        self._blocks = [s for s in self._steps if isinstance(s, _Block)]
        self._parts = [s for s in self._steps if isinstance(s, _PartStep)]
        # Most records are a block, and one part behind it.
        self._follows: tuple[_Block, _PartStep] | None = None
        if len(self._blocks) == len(self._parts) == 1:
            block, part = self._blocks[0], self._parts[0]
            if self._steps == [block, part] and not (part.spread or part.chosen_by):
                self._follows = block, part
        self._fixed = sum(b.struct.size for b in self._blocks)
        said = {n for b in self._blocks for n, _ in b.plain}
        said |= {s.name for b in self._blocks for s, _, _ in b.mapped}
        said |= {n for p in self._parts for n in p.names}
        self._unsaid = self._defaults(record.make, "", said)
        for name, make in record.nested.items():
            if name not in said:
                self._unsaid += self._defaults(make, f"{name}.", said)
        self._filled = {n: v for n, v in record.ignored.items() if n not in said}
        self._nested = [
            (name, make, [s for s in said if s.startswith(f"{name}.")])
            for name, make in record.nested.items()
            if name not in said
        ]

    def _defaults(
        self, make: type[Any], prefix: str, said: set[str]
    ) -> list[tuple[str, Callable[[Any], Any], Any]]:
        """Attributes without a place, with what they must be."""
        out: list[tuple[str, Callable[[Any], Any], Any]] = []
        for f in dataclasses.fields(make):
            name = prefix + f.name
            if name in said or name in self._record.ignored or f.name in self._record.nested:
                continue
            default = f.default_factory() if f.default_factory is not _MISSING else f.default
            if default is _MISSING:
                raise TypeError(f"{self._what}.{name} has no place in version {self._version}")
            out.append((name, attrgetter(name), default))
        return out

    def encode(self, value: Any) -> bytes:
        if self._record.check is not None:
            self._record.check(value)
        for name, get, default in self._unsaid:
            if get(value) != default:
                raise ValueError(
                    f"{self._what}.{name} = {get(value)!r}: OpenFlow 1.{self._version - 1} has no "
                    "place for it"
                )
        if self._follows is not None:
            block, step = self._follows
            body = step.codec(-1).encode(getattr(value, step.key))
            try:
                return block.pack(value, {step.key: len(body)}, self._fixed + len(body)) + body
            except _UNFIT as problem:
                raise self._unfit(problem, value) from None
        bodies = {}
        sizes = _NO_SIZES
        total = self._fixed
        if self._parts:
            for step in self._parts:
                codec = step.codec(getattr(value, step.chosen_by) if step.chosen_by else -1)
                bodies[step.key] = codec.encode(value if step.spread else getattr(value, step.key))
            sizes = {name: len(body) for name, body in bodies.items()}
            total += sum(sizes.values())
        try:
            return b"".join(
                [
                    step.pack(value, sizes, total) if isinstance(step, _Block) else bodies[step.key]
                    for step in self._steps
                ]
            )
        except _UNFIT as problem:
            raise self._unfit(problem, value) from None

    def encode_all(self, values: Iterable[Any]) -> bytes:
        """One after the other; those of a single block at once."""
        if self._parts or self._unsaid or self._record.check is not None or len(self._blocks) != 1:
            return b"".join([self.encode(value) for value in values])
        pack, size = self._blocks[0].pack, self._fixed
        value = None
        try:
            return b"".join([pack(value := each, _NO_SIZES, size) for each in values])
        except _UNFIT as problem:
            raise self._unfit(problem, value) from None

    def _unfit(self, problem: Exception, value: Any) -> ValueError:
        return ValueError(
            f"{self._what} does not fit OpenFlow 1.{self._version - 1}: {problem}: {value!r}"
        )

    def decode(self, buffer: bytes, at: int, end: int) -> tuple[Any, int]:
        start = at
        values: dict[str, Any] = {}
        limits: dict[str, int] = {}
        sized = False
        for step in self._steps:
            if isinstance(step, _Block):
                after = at + step.struct.size
                if after > end:
                    raise DecodeError(f"{self._what} cut off at offset {at}", self._record.length)
                raw = step.unpack(buffer, at, values)
                if step.size_at is not None:
                    sized = True
                    if not self._fixed <= raw[step.size_at] <= end - start:
                        raise DecodeError(
                            f"{self._what} length {raw[step.size_at]} at offset {start}",
                            self._record.length,
                        )
                    end = start + raw[step.size_at]
                for name, index in step.size_of:
                    limits[name] = raw[index]
                at = after
            else:
                at = self._decode_part(step, buffer, at, end, values, limits)
        if sized and at != end:
            raise DecodeError(
                f"{self._what} with {end - at} bytes more at offset {at}", self._record.length
            )
        return self._made(values, start), at

    def _decode_part(
        self,
        step: _PartStep,
        buffer: bytes,
        at: int,
        end: int,
        values: dict[str, Any],
        limits: dict[str, int],
    ) -> int:
        limit = end
        if step.bounded:
            limit = at + limits[step.key]
            if limit > end:
                raise DecodeError(
                    f"{self._what}.{step.key} of {limits[step.key]} bytes overflows at offset {at}",
                    self._record.length,
                )
        codec = step.codec(values[step.chosen_by] if step.chosen_by else -1)
        value, after = codec.decode(buffer, at, limit)
        if step.bounded and after != limit:
            raise DecodeError(
                f"{self._what}.{step.key} leaves {limit - after} bytes at offset {after}",
                self._record.length,
            )
        if step.spread:
            values.update(value)
        else:
            values[step.key] = value
        return after

    def _made(self, values: dict[str, Any], start: int) -> Any:
        for name, make, said in self._nested:
            skip = len(name) + 1
            values[name] = make(**{s[skip:]: values.pop(s) for s in said})
        if self._filled:
            values.update(self._filled)
        made = self._record.make(**values)
        if self._record.check is not None:
            try:
                self._record.check(made)
            except ValueError as problem:
                raise DecodeError(f"{problem} at offset {start}", self._record.refusal) from None
        return made
