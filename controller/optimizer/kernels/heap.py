"""A binary heap in two arrays."""

from __future__ import annotations

from controller.optimizer.kernels import kernel
from controller.optimizer.problem import Floats, Indices


@kernel
def push(keys: Floats | Indices, items: Indices, size: int, key: float, item: int) -> int:
    """The new size."""
    at = size
    while at and keys[(at - 1) // 2] > key:
        keys[at], items[at] = keys[(at - 1) // 2], items[(at - 1) // 2]
        at = (at - 1) // 2
    keys[at], items[at] = key, item
    return size + 1


@kernel
def pop(keys: Floats | Indices, items: Indices, size: int) -> int:
    """Remove the first of the heap; the new size."""
    size -= 1
    key, item = keys[size], items[size]
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        keys[at], items[at] = keys[child], items[child]
        at = child
    keys[at], items[at] = key, item
    return size
