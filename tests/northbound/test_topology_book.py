"""Edits of the topology: taken, refused, applied, and which counts after a restart."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from controller.fabric.errors import TopologyErrors
from controller.fabric.load import load
from controller.fabric.model import Fabric, Provenance
from controller.northbound.errors import Code, ServiceError
from controller.northbound.ports import Principal
from controller.northbound.receipts import Receipt
from controller.northbound.topology_book import Problem, TopologyBook
from controller.northbound.topology_start import FileState, Found, at_start, digest_of
from controller.store.contract import StoreError
from controller.store.sqlite import SqliteStore
from heald.v1 import fabric_pb2 as pb
from tests.fabric.samples import GOOD

FILE = "fabric.yaml"
A = GOOD.encode()
FASTER = A.replace(b"100G", b"400G")
THIRD = A.replace(b"100G", b"200G")
REORDERED = b"# the same\n" + A.replace(
    b"  h1: leaf1:1\n  h2: leaf2:1\n", b"  h2: leaf2:1\n  h1: leaf1:1\n"
)
BAD = A.replace(b"leaf2:1\n", b"leaf3:1\n").replace(b"100G", b"100")
ANN = Principal("ann")


def read(text: bytes, name: str) -> Found:
    try:
        return load(text, name)
    except TopologyErrors as errors:
        return errors.problems


async def read_aside(text: bytes, name: str) -> Found:
    await asyncio.sleep(0)
    return read(text, name)


@dataclass
class Controller:
    """A controller's store, and what its engine has been given since it was started."""

    path: Path
    taken: list[Fabric] = field(default_factory=list)

    async def start(self, text: bytes | None) -> TopologyBook:
        """``text``: of the file, None if there is none."""
        self.store = await SqliteStore.open(self.path / "heald.db")
        try:
            missing = (Problem(Provenance(FILE, 1, 1), "cannot be read"),)
            found = missing if text is None else read(text, FILE)
            digest = b"" if text is None else digest_of(text)
            file = FileState(FILE, digest, found)
            running = await at_start(self.store, "default", file, text or b"", read)
        except BaseException:
            await self.store.close()
            raise
        self.taken = [running.fabric]
        return TopologyBook(self.store, "default", running, file, read_aside, self.take)

    async def take(self, fabric: Fabric) -> None:
        self.taken.append(fabric)

    async def restart(self, text: bytes | None) -> TopologyBook:
        await self.store.close()
        return await self.start(text)


Story = Callable[[Controller], Coroutine[Any, Any, None]]


@pytest.fixture
def tell(tmp_path: Path) -> Callable[[Story], None]:
    def run(story: Story) -> None:
        async def whole() -> None:
            controller = Controller(tmp_path)
            try:
                await story(controller)
            finally:
                await controller.store.close()

        asyncio.run(whole())

    return run


def capacity(fabric: Fabric) -> float:
    return fabric.links[0].capacity_bps


def test_a_saved_edit_is_taken_into_use_and_told(tell: Callable[[Story], None]) -> None:
    async def story(controller: Controller) -> None:
        book = await controller.start(A)
        async with aclosing(book.watch()) as events:
            assert (await anext(events)).kind == pb.TopologyEvent.RUNNING
            await book.saved(FASTER)
            event = await anext(events)
        assert event.kind == pb.TopologyEvent.CHANGED
        assert event.version == 2
        assert [(c.kind, c.element, c.fields[0].after) for c in event.changes] == [
            ("changed", "link", "400G")
        ] * 2
        assert [(f.version, capacity(f)) for f in controller.taken] == [(1, 100e9), (2, 400e9)]
        assert not book.problems()
        assert not book.status().file_differs

    tell(story)


def test_order_and_comments_reach_nobody(tell: Callable[[Story], None]) -> None:
    async def story(controller: Controller) -> None:
        book = await controller.start(A)
        await book.saved(REORDERED)
        await book.saved(A)
        assert len(controller.taken) == 1
        assert book.fabric.version == 1
        # What is stored is the text of the newest, all the same.
        assert (await controller.restart(None)).source.text == A

    tell(story)


def test_a_bad_edit_is_refused_with_the_words_of_check_until_it_is_cured(
    tell: Callable[[Story], None], caplog: pytest.LogCaptureFixture
) -> None:
    said = [str(problem) for problem in read(BAD, FILE)]  # type: ignore[union-attr]
    assert len(said) >= 2

    async def story(controller: Controller) -> None:
        book = await controller.start(A)
        async with aclosing(book.watch()) as events:
            await anext(events)
            await book.saved(BAD)
            event = await anext(events)
            assert event.kind == pb.TopologyEvent.REFUSED
            for problems in (event.status.problems, book.status().problems):
                assert [f"{p.file}:{p.line}:{p.column}: {p.text}" for p in problems] == said
            assert set(said) <= set(book.problems())
            assert set(said) <= {record.getMessage() for record in caplog.records}
            assert book.status().file_differs
            assert len(controller.taken) == 1
            await book.saved(REORDERED)
            assert (await anext(events)).kind == pb.TopologyEvent.CLEARED
            assert not book.problems()
            assert not book.status().HasField("refused_time")
            assert len(controller.taken) == 1
            await book.saved(BAD)
            await book.saved(FASTER)
            assert [(await anext(events)).kind for _ in range(2)] == [
                pb.TopologyEvent.REFUSED,
                pb.TopologyEvent.CHANGED,
            ]
        assert not book.problems()
        assert capacity(controller.taken[-1]) == 400e9

    tell(story)


def test_a_file_that_vanishes_is_a_refused_edit(tell: Callable[[Story], None]) -> None:
    async def story(controller: Controller) -> None:
        book = await controller.start(A)
        await book.saved(b"", (Problem(Provenance(FILE, 1, 1), "cannot be read (gone)"),))
        assert "fabric.yaml:1:1: cannot be read (gone)" in book.problems()
        assert len(controller.taken) == 1
        await book.saved(A)
        assert not book.problems()

    tell(story)


def test_another_fabric_is_refused(tell: Callable[[Story], None]) -> None:
    async def story(controller: Controller) -> None:
        book = await controller.start(A)
        other = b"# one line\n" + A.replace(b"fabric: small", b"fabric: large")
        await book.saved(other)
        assert any(p.startswith("fabric.yaml:2:1: the controller runs") for p in book.problems())
        with pytest.raises(ServiceError, match="runs fabric 'small'"):
            await book.apply(other, "x.yaml", ANN)
        assert len(controller.taken) == 1

    tell(story)


def test_a_file_without_any_switch_that_runs_is_taken_only_if_somebody_says_so(
    tell: Callable[[Story], None],
) -> None:
    async def story(controller: Controller) -> None:
        book = await controller.start(A)
        others = A.replace(b"dpid: 1}", b"dpid: 7}").replace(b"dpid: 2}", b"dpid: 8}")
        await book.saved(others)
        assert len(controller.taken) == 2
        others = others.replace(b"dpid: 0x101}", b"dpid: 9}").replace(b"dpid: 7", b"dpid: 70")
        others = others.replace(b"dpid: 8", b"dpid: 80")
        await book.saved(others)
        assert any("has none of the 3 switches that run" in each for each in book.problems())
        assert len(controller.taken) == 2
        await book.apply(others, "others.yaml", ANN)
        assert set(controller.taken[-1].switch_by_dpid) == {70, 80, 9}

    tell(story)


def test_applying_does_the_same_and_says_that_the_file_differs(
    tell: Callable[[Story], None],
) -> None:
    async def story(controller: Controller) -> None:
        book = await controller.start(A)
        dry = await book.apply(FASTER, "new.yaml", ANN, validate_only=True)
        assert dry.version == 1
        assert len(dry.changes) == 2
        assert dry.file_differs
        assert len(controller.taken) == 1
        answer = await book.apply(FASTER, "new.yaml", ANN)
        assert answer.version == 2
        assert (answer.file, answer.file_differs) == (FILE, True)
        assert capacity(controller.taken[-1]) == 400e9
        status = book.status()
        assert (status.running.applied, status.running.principal) == (True, "ann")
        assert status.file_differs
        # What is applied and saved, too, is no more than saved.
        await book.saved(FASTER)
        assert not book.status().file_differs
        assert not book.status().running.applied
        assert len(controller.taken) == 2
        answer = await book.apply(REORDERED.replace(b"100G", b"400G"), "x", ANN)
        assert not answer.changes
        assert not answer.file_differs

    tell(story)


def test_what_is_wrong_with_an_applied_text_is_said_all_at_once(
    tell: Callable[[Story], None],
) -> None:
    async def story(controller: Controller) -> None:
        book = await controller.start(A)
        with pytest.raises(ServiceError) as error:
            await book.apply(BAD, "new.yaml", ANN)
        assert error.value.code is Code.INVALID_ARGUMENT
        assert [f"{v.field}: {v.description}" for v in error.value.violations] == [
            str(problem)
            for problem in read(BAD, "new.yaml")  # type: ignore[union-attr]
        ]
        # Nothing is wrong with the file.
        assert not book.problems()
        assert len(controller.taken) == 1

    tell(story)


def test_a_request_sent_twice_is_done_once(tell: Callable[[Story], None]) -> None:
    async def story(controller: Controller) -> None:
        book = await controller.start(A)
        receipt = Receipt(ANN, "1", b"apply 400G")
        first = await book.apply(FASTER, "x", ANN, receipt)
        await book.saved(THIRD)
        assert await book.apply(FASTER, "x", ANN, receipt) == first
        assert capacity(book.fabric) == 200e9
        with pytest.raises(ServiceError, match="was used for another request"):
            await book.apply(THIRD, "x", ANN, Receipt(ANN, "1", b"apply 200G"))

    tell(story)


@pytest.mark.parametrize(
    ("applied", "file_then", "counts"),
    [
        (None, FASTER, FASTER),  # edited while nothing ran
        (FASTER, A, FASTER),  # the file is as it was: what was applied counts
        (FASTER, THIRD, THIRD),  # saved since
        (FASTER, BAD, FASTER),  # wrong, or gone: what ran last
        (FASTER, None, FASTER),
        (None, BAD, A),
        (None, None, A),
    ],
)
def test_which_counts_after_a_restart(
    tell: Callable[[Story], None],
    applied: bytes | None,
    file_then: bytes | None,
    counts: bytes,
) -> None:
    async def story(controller: Controller) -> None:
        book = await controller.start(A)
        if applied:
            await book.apply(applied, "new.yaml", ANN)
        for _ in range(2):
            book = await controller.restart(file_then)
            assert capacity(book.fabric) == capacity(load(counts, FILE))
            assert book.fabric.version == 1
            is_wrong = file_then in (BAD, None)
            assert bool(book.problems()) is is_wrong
            assert book.status().file_differs is (is_wrong or file_then != counts)
        # The same without a restart in between: the file is what it says.
        await book.saved(A.replace(b"100G", b"10G"))
        assert capacity(book.fabric) == 10e9

    tell(story)


def test_a_mistake_that_is_taken_back_does_not_undo_what_was_applied(
    tell: Callable[[Story], None],
) -> None:
    async def story(controller: Controller) -> None:
        book = await controller.start(A)
        await book.apply(FASTER, "new.yaml", ANN)
        await book.saved(BAD)
        assert book.problems()
        await book.saved(A)
        assert not book.problems()
        assert capacity(book.fabric) == 400e9
        assert book.status().file_differs

    tell(story)


def test_the_first_start_needs_a_right_file(tmp_path: Path) -> None:
    with pytest.raises(TopologyErrors) as error:
        asyncio.run(Controller(tmp_path).start(BAD))
    assert len(error.value.problems) >= 2


def test_what_cannot_be_stored_is_not_taken_into_use(tell: Callable[[Story], None]) -> None:
    async def story(controller: Controller) -> None:
        book = await controller.start(A)
        whole = controller.store.txn

        async def full(*_: object) -> int:
            raise StoreError("the disk is full")

        controller.store.txn = full  # type: ignore[method-assign]
        with pytest.raises(StoreError):
            await book.saved(FASTER)
        assert len(controller.taken) == 1
        controller.store.txn = whole  # type: ignore[method-assign]
        await book.saved(FASTER)
        assert len(controller.taken) == 2

    tell(story)
