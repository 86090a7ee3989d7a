"""A saved file is noticed within two seconds, whatever the editor does, and never half written."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Coroutine
from contextlib import aclosing
from pathlib import Path

import pytest

from controller.brain import topology_file
from controller.brain.topology_file import STILL_S, Content, Stillness, saves

WITHIN_S = 2.0
OLD, NEW, OTHER = b"fabric: a\n" * 100, b"fabric: b\n" * 100, b"fabric: c\n" * 100


def test_a_file_is_news_when_it_has_been_still() -> None:
    stillness = Stillness((1, 0))
    assert not stillness.is_news((1, 0), 0.0)
    assert not stillness.is_news((1, 1), 0.1)
    assert not stillness.is_news((1, 2), STILL_S)  # still being written
    assert not stillness.is_news((1, 2), 2 * STILL_S - 0.01)
    assert stillness.is_news((1, 2), 2 * STILL_S + 0.01)
    stillness.told((1, 2))
    assert not stillness.is_news((1, 2), 9.0)
    assert not stillness.is_news(None, 10.0)
    assert stillness.is_news(None, 10.0 + STILL_S)


async def noticed(path: Path, edit: Callable[[], Coroutine[None, None, None]]) -> list[Content]:
    """What is read from before ``edit`` until nothing more can come, the last of it in time."""
    found: list[Content] = []
    at: list[float] = []

    async def follow() -> None:
        async with aclosing(saves(str(path), topology_file.look(str(path)))) as contents:
            async for content in contents:
                found.append(content)
                at.append(time.monotonic())

    task = asyncio.create_task(follow())
    await asyncio.sleep(0)
    await edit()
    edited = time.monotonic()
    deadline = edited + 5 * WITHIN_S
    while not found and time.monotonic() < deadline:
        await asyncio.sleep(0.05)
    await asyncio.sleep(WITHIN_S)  # for what must not come
    task.cancel()
    assert found, "the edit was not noticed"
    assert at[0] - edited < WITHIN_S
    return found


def run(path: Path, edit: Callable[[], Coroutine[None, None, None]]) -> list[bytes]:
    return [content.text for content in asyncio.run(noticed(path, edit))]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "fabric.yaml"
    path.write_bytes(OLD)
    return path


def test_written_in_place_in_pieces(file: Path) -> None:
    async def edit() -> None:
        with file.open("wb") as stream:  # empty for a moment
            for i in range(0, len(NEW), 250):
                stream.write(NEW[i : i + 250])
                stream.flush()
                await asyncio.sleep(0.4)

    assert run(file, edit) == [NEW]


def test_renamed_over(file: Path) -> None:
    async def edit() -> None:
        aside = file.with_name(".fabric.yaml.swp")
        aside.write_bytes(NEW)
        aside.replace(file)

    assert run(file, edit) == [NEW]


def test_moved_aside_first_as_for_a_backup(file: Path) -> None:
    async def edit() -> None:
        file.rename(file.with_name("fabric.yaml~"))
        await asyncio.sleep(0.4)
        file.write_bytes(NEW)

    assert run(file, edit) == [NEW]


def test_saved_twice_quickly(file: Path) -> None:
    async def edit() -> None:
        file.write_bytes(OTHER)
        await asyncio.sleep(0.1)
        file.write_bytes(NEW)

    assert run(file, edit) == [NEW]


def test_same_size_and_time_of_modification(file: Path) -> None:
    async def edit() -> None:
        before = file.stat()
        file.write_bytes(NEW)
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert run(file, edit) == [NEW]


def test_a_link_to_another_file(file: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.yaml"
    link.symlink_to(file.name)

    async def edit() -> None:
        (tmp_path / "other.yaml").write_bytes(NEW)
        aside = tmp_path / "aside"
        aside.symlink_to("other.yaml")
        aside.replace(link)

    assert run(link, edit) == [NEW]


def test_a_directory_that_is_exchanged_under_a_link(tmp_path: Path) -> None:
    """As Kubernetes renews the files of a ConfigMap."""
    for name, text in (("..1", OLD), ("..2", NEW)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "fabric.yaml").write_bytes(text)
    (tmp_path / "..data").symlink_to("..1")
    file = tmp_path / "fabric.yaml"
    file.symlink_to("..data/fabric.yaml")

    async def edit() -> None:
        (tmp_path / "..next").symlink_to("..2")
        (tmp_path / "..next").replace(tmp_path / "..data")
        (tmp_path / "..1" / "fabric.yaml").unlink()

    assert run(file, edit) == [NEW]


def test_a_file_that_vanishes_is_told_with_the_reason(file: Path) -> None:
    async def edit() -> None:
        file.unlink()

    (content,) = asyncio.run(noticed(file, edit))
    assert [str(problem) for problem in content.problems] == [
        f"{file}:1:1: cannot be read (No such file or directory): give the path of a readable file"
    ]


@pytest.mark.parametrize("kind", ["directory", "pipe"])
def test_what_is_no_file_is_told_and_holds_nothing_up(file: Path, kind: str) -> None:
    async def edit() -> None:
        file.unlink()
        if kind == "pipe":
            os.mkfifo(file)
        else:
            file.mkdir()

    (content,) = asyncio.run(noticed(file, edit))
    assert "it is no regular file" in content.problems[0].text
