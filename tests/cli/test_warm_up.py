"""``heald warm-up``, and where compiled kernels are kept."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from controller.cli.main import cli
from controller.optimizer import kernels


def test_it_says_what_it_did() -> None:
    done = CliRunner().invoke(cli, ["warm-up"])
    assert done.exit_code == 0, done.output
    assert "kernels ready in" in done.output
    assert f"kept in {kernels.cache_dir}" in done.output
    assert list(Path(kernels.cache_dir).rglob("*.nbc"))


def test_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "problem", "numba cannot be imported")
    done = CliRunner().invoke(cli, ["warm-up"])
    assert done.exit_code == 1
    assert "warm-up: numba cannot be imported" in done.output


def test_kernels_are_kept_in_the_cache_of_the_service_or_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    monkeypatch.delenv("CACHE_DIRECTORY", raising=False)
    mine = Path(kernels._cache_dir())
    assert mine.parent == tmp_path / "user" / "heald" / "kernels"
    monkeypatch.setenv("CACHE_DIRECTORY", str(tmp_path / "service"))
    assert Path(kernels._cache_dir()) == tmp_path / "service" / "heald" / "kernels" / mine.name


def test_others_cannot_write_what_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels.tempfile, "gettempdir", lambda: str(tmp_path / "tmp"))
    monkeypatch.delenv("CACHE_DIRECTORY", raising=False)
    (tmp_path / "user").write_text("no directory")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    private = Path(kernels._cache_dir())
    assert private.parent == tmp_path / "tmp" / f"heald-{os.getuid()}" / "kernels"
    private.chmod(0o777)
    assert kernels._cache_dir() == ""
