"""What generators are told: each kind is a model of its parameters that draws itself."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field, PlainValidator, ValidationError
from typing_extensions import Self

from controller.fabric import quantities
from controller.fabric.errors import quoted
from controller.fabric.schema import Defaults, Maybe, RateBps, Spec, TimeS
from controller.fabric.validate import unknown

if TYPE_CHECKING:
    from controller.fabric.generate.draft import Draft

_RATIO = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,9})?)(?::1)?\Z")


class ParameterErrors(ValueError):  # noqa: N818 -- it holds all of them
    """Everything that is wrong with parameters: the path of each, () for all together, and why."""

    def __init__(self, found: Iterable[tuple[tuple[str, ...], str]]) -> None:
        self.found = tuple(found)
        super().__init__("\n".join(": ".join([*path, text]) for path, text in self.found))

    @classmethod
    def of(cls, parameter: str | None, text: str) -> ParameterErrors:
        return cls([(() if parameter is None else (parameter,), text)])


def _count(low: int, high: int = 0xFFFF) -> PlainValidator:
    return PlainValidator(lambda value: quantities.number(value, low, high, "count"))


def _ratio(value: object) -> float:
    """``3`` or ``3:1``."""
    found = quantities.text(value, "a ratio like 3 or 3:1")
    match = _RATIO.match(found)
    if match is None or not Decimal("0.01") <= Decimal(match[1]) <= 1000:
        raise ValueError(f"{quoted(found)} is no ratio: write one like 1, 1.5 or 3:1, 0.01 to 1000")
    return float(match[1])


Some = Annotated[int, _count(1)]
"""At least one."""
Any_ = Annotated[int, _count(0)]
Two = Annotated[int, _count(2)]
"""At least two."""
Accelerators = Annotated[int, _count(0, 1024)]
Seed = Annotated[int, PlainValidator(lambda v: quantities.number(v, 0, 2**32 - 1, "seed"))]
Ratio = Annotated[float, PlainValidator(_ratio)]


class Rates(Spec):
    """Of some links, where they are not those of ``defaults: link:``."""

    capacity: Maybe[RateBps] = None
    latency: Maybe[TimeS] = None


class Parameters(Spec):
    """Sizes of one kind of fabric. Rates are those of the file's ``defaults``."""

    kind: ClassVar[str]
    example: ClassVar[str]
    """A sensible fabric of this kind, in options of the command."""

    accelerators: Accelerators = Field(default=1, description="accelerators of a host")

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Self:
        """From words, such as those of a YAML file. Raises ParameterErrors with all problems."""
        try:
            return cls.model_validate(given)
        except ValidationError as invalid:
            errors = invalid.errors(include_url=False, include_input=False)
            raise ParameterErrors(map(cls._error, errors)) from None

    @classmethod
    def _error(cls, error: Any) -> tuple[tuple[str, ...], str]:
        path = tuple(map(str, error["loc"]))
        if error["type"] == "extra_forbidden":
            keys = ["kind", *cls.model_fields] if len(path) == 1 else [*Rates.model_fields]
            return path, unknown(f"key {quoted(path[-1])}", path[-1], keys)
        if error["type"] in ("model_type", "dict_type"):
            return path, f"a mapping belongs here, with the keys {', '.join(Rates.model_fields)}"
        return path, str(error.get("ctx", {}).get("error", error["msg"]))

    def problems(self, defaults: Defaults) -> Iterator[tuple[str, str]]:
        """(Parameter, what is wrong with it and how it is cured) of what fits not together."""
        yield from ()

    @abstractmethod
    def draw(self, draft: Draft, defaults: Defaults) -> None:
        """Add the elements."""


class Oversubscribed(Parameters):
    """With a tier of uplinks whose rate can follow from that of the hosts."""

    cables: Some = Field(default=1, description="parallel links between two switches")
    oversubscription: Maybe[Ratio] = Field(
        default=None, description="rate of a leaf's NICs to that of its uplinks, like 3 or 3:1"
    )

    def problems(self, defaults: Defaults) -> Iterator[tuple[str, str]]:
        if self.oversubscription is not None and defaults.nic.capacity is None:
            yield (
                "oversubscription",
                "of which rate? give that of the NICs, as `capacity` of defaults.nic",
            )

    def uplinks(self, defaults: Defaults, nics: float, uplinks: int) -> Rates | None:
        """Rates of each of ``uplinks`` of a leaf with ``nics`` NICs."""
        if self.oversubscription is None or defaults.nic.capacity is None:
            return None
        below = nics * defaults.nic.capacity
        return Rates.model_construct(
            capacity=float(max(1000, round(below / uplinks / self.oversubscription)))
        )
