"""heald.distribution: foreign packages are named before they do harm, topologies are found."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import controller.distribution
import heald.distribution as distribution

ROOT = Path(__file__).resolve().parents[2]
MARK = '__distribution__ = "heald"\n'


def make(root: Path, name: str, text: str = "") -> Path:
    init = root / name / "__init__.py"
    init.parent.mkdir(parents=True)
    init.write_text(text)
    return init


@pytest.fixture
def name(monkeypatch: pytest.MonkeyPatch) -> str:
    """A package name that nothing has imported yet."""
    monkeypatch.delitem(sys.modules, "heald_probe", raising=False)
    return "heald_probe"


def test_this_checkout_is_fine() -> None:
    distribution.check_own_packages()
    distribution.require_own_packages()


def test_brain_and_apps_use_the_same_check() -> None:
    assert controller.distribution.require_own_packages is distribution.require_own_packages


def test_own_package(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, name, MARK)
    monkeypatch.syspath_prepend(tmp_path)
    distribution.check_own_packages([name], root=tmp_path.resolve())


def test_missing_package(name: str, tmp_path: Path) -> None:
    with pytest.raises(distribution.ForeignPackageError, match=r"is missing .*; reinstall"):
        distribution.check_own_packages([name], root=tmp_path)


def test_package_from_elsewhere(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Also with our mark: two checkouts must not be mixed.
    init = make(tmp_path / "other", name, MARK)
    make(tmp_path / "ours", name, MARK)
    monkeypatch.syspath_prepend(tmp_path / "other")
    with pytest.raises(distribution.ForeignPackageError) as caught:
        distribution.check_own_packages([name], root=(tmp_path / "ours").resolve())
    text = str(caught.value)
    assert str(init) in text
    assert "PYTHONPATH" in text
    assert "\n" not in text


def test_directory_without_init(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "other" / name).mkdir(parents=True)
    monkeypatch.syspath_prepend(tmp_path / "other")
    with pytest.raises(distribution.ForeignPackageError, match="was loaded from"):
        distribution.check_own_packages([name], root=(tmp_path / "ours").resolve())


def test_overwritten_in_place(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    init = make(tmp_path, name, "# of another distribution, installed later\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(distribution.ForeignPackageError, match="was overwritten by") as caught:
        distribution.check_own_packages([name], root=tmp_path.resolve())
    assert str(init) in str(caught.value)


def test_loaded_module_counts_not_what_the_path_says_now(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path / "other", name, MARK)
    make(tmp_path / "ours", name, MARK)
    monkeypatch.syspath_prepend(tmp_path / "other")
    __import__(name)
    monkeypatch.syspath_prepend(tmp_path / "ours")
    with pytest.raises(distribution.ForeignPackageError, match="was loaded from"):
        distribution.check_own_packages([name], root=(tmp_path / "ours").resolve())


def test_apps_with_a_foreign_controller_end_in_one_line(tmp_path: Path) -> None:
    make(tmp_path, "controller")
    env = dict(os.environ, PYTHONPATH=os.pathsep.join([str(tmp_path), str(ROOT)]))
    result = subprocess.run(
        [sys.executable, "-c", "import apps.fabric"],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 1
    assert result.stderr.startswith("heald: the package 'controller' was loaded from")
    assert result.stderr.count("\n") == 1


def test_topologies_of_the_checkout() -> None:
    assert distribution.topologies_dir() == ROOT / "topologies"


def test_topologies_of_an_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tmp_path / "lib/python3/site-packages"
    info = site / "heald-0.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: heald\nVersion: 0.0\n")
    (info / "RECORD").write_text(
        "heald/__init__.py,,\n../../../share/heald/topologies/leaf-spine.yaml,,\n"
    )
    shipped = tmp_path / "share/heald/topologies/leaf-spine.yaml"
    shipped.parent.mkdir(parents=True)
    shipped.touch()
    installed = metadata.Distribution.at(info)
    monkeypatch.setattr(distribution, "_ROOT", site)
    monkeypatch.setattr(distribution.metadata, "files", lambda _: installed.files)
    assert distribution.topologies_dir() == shipped.parent


def test_no_topologies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distribution, "_ROOT", tmp_path)
    monkeypatch.setattr(distribution.metadata, "files", lambda _: None)
    with pytest.raises(FileNotFoundError, match="reinstall"):
        distribution.topologies_dir()
