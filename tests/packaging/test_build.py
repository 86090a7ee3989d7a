"""What the distribution holds, and that a plain `pip install` of it works in a clean environment.

Slow, and in need of a package index: `make packaging` runs these, `make unit` does not.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

pytestmark = [pytest.mark.packaging, pytest.mark.timeout(900)]

ROOT = Path(__file__).resolve().parents[2]
CONSTRAINTS = ROOT / "build-constraints.txt"


def run(
    *command: str | Path, cwd: Path = ROOT, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command as a user's shell would: without this test run's environment."""
    dropped = ("PYTHON", "VIRTUAL_ENV", "UV_PROJECT_ENVIRONMENT", "UV_PYTHON")
    clean = {k: v for k, v in os.environ.items() if not k.startswith(dropped)}
    clean.setdefault("UV_SYSTEM_CERTS", "1")  # as the set-up does
    result = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**clean, **(env or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, f"{command}\n{result.stdout}\n{result.stderr}"
    return result


@pytest.fixture(scope="session")
def uv() -> str:
    found = os.environ.get("UV") or shutil.which("uv")
    if not found or not Path(found).is_file():
        found = str(ROOT / ".tools/uv")
    assert Path(found).is_file(), "no uv: run `make setup`"
    return found


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What git has or would add, so that leftovers of a build tree hide nothing."""
    target = tmp_path_factory.mktemp("sources")
    listed = run("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z").stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)
    return target


@pytest.fixture(scope="session")
def wheel(uv: str, sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    # By way of the sdist, as a release is built: what it lacks is missing here too.
    run(uv, "build", "--quiet", "--out-dir", out, cwd=sources)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_wheel_installs_these_top_level_names_only(names: list[str]) -> None:
    tops = {name.split("/")[0] for name in names}
    plain = {top for top in tops if not top.endswith((".dist-info", ".data"))}
    assert plain == {"apps", "controller", "heald", "heald_compat.pth", "heald_compat.py"}


def test_wheel_has_types_stubs_licence_and_topologies(names: list[str]) -> None:
    def has(ending: str) -> bool:
        return any(name.endswith(ending) for name in names)

    for package in ("apps", "controller", "heald"):
        assert f"{package}/py.typed" in names
    assert has("heald/v1/fabric_pb2.pyi")
    assert has("/licenses/LICENSE")
    root = "/data/share/heald/topologies/"
    shipped = {name.split(root)[1] for name in names if root in name}
    topologies = ROOT / "topologies"
    assert shipped == {str(p.relative_to(topologies)) for p in topologies.rglob("*.yaml")}


def test_wheel_installs_no_ryu_manager(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (entry_points,) = (n for n in archive.namelist() if n.endswith("entry_points.txt"))
        text = archive.read(entry_points).decode()
    assert "heald = " in text
    assert "ryu" not in text


def test_shim_in_the_wheel_is_the_one_of_the_checkout(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for name in ("heald_compat.pth", "heald_compat.py"):
            assert archive.read(name) == (ROOT / "shim" / name).read_bytes()


def test_lock_names_public_places_only() -> None:
    text = (ROOT / "uv.lock").read_text()
    hosts = {url.split("/")[2] for url in text.split('"') if "://" in url}
    assert hosts == {"pypi.org", "files.pythonhosted.org"}
    assert "file:" not in text


def test_lock_and_constraint_file_agree() -> None:
    (line,) = (x for x in CONSTRAINTS.read_text().splitlines() if x and x[0] != "#")
    assert f'build-constraint-dependencies = ["{line}"]' in (ROOT / "pyproject.toml").read_text()


@pytest.fixture(scope="session")
def installed(uv: str, sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A clean environment with `pip install .` as the README has it, no wheel of ryu cached."""
    venv = tmp_path_factory.mktemp("pip") / "venv"
    # uv makes it, for Debian's python3 has no ensurepip; all that follows is pip.
    run(uv, "venv", "--quiet", "--seed", "--python", sys.executable, venv)
    run(
        venv / "bin/python",
        *("-m", "pip", "install", "--quiet", "."),
        cwd=sources,
        env={
            "PIP_NO_CACHE_DIR": "1",
            "PIP_CONSTRAINT": CONSTRAINTS.name,
            "PIP_BUILD_CONSTRAINT": CONSTRAINTS.name,
        },
    )
    yield venv
    shutil.rmtree(venv)  # half a gigabyte


def test_pip_install_gives_ryu_manager_our_options(installed: Path, tmp_path: Path) -> None:
    result = run(installed / "bin/ryu-manager", "--help", cwd=tmp_path)
    assert "--fabric-topology" in result.stdout
    assert result.stderr == ""


def test_pip_install_gives_heald(installed: Path, tmp_path: Path) -> None:
    version = run(
        installed / "bin/python", "-c", "import heald; print(heald.__version__)", cwd=tmp_path
    ).stdout.strip()
    assert version in run(installed / "bin/heald", "--version", cwd=tmp_path).stdout


def test_pip_install_ships_the_topologies(installed: Path, tmp_path: Path) -> None:
    code = "from heald.distribution import topologies_dir as d; print(*d().iterdir(), sep='\\n')"
    files = run(installed / "bin/python", "-c", code, cwd=tmp_path).stdout.split()
    assert {Path(file).name for file in files} == {p.name for p in sources_topologies()}
    assert all(Path(file).is_relative_to(installed) for file in files)


def test_pip_install_is_consistent(installed: Path, tmp_path: Path) -> None:
    run(installed / "bin/python", "-m", "pip", "check", cwd=tmp_path)


def test_foreign_controller_ends_heald_in_one_line(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "controller").mkdir()
    (tmp_path / "controller/__init__.py").write_text("")
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    for command in (["heald", "--version"], ["ryu-manager", "apps.fabric"]):
        result = subprocess.run(
            [str(installed / "bin" / command[0]), *command[1:]],
            env={**clean, "PYTHONPATH": str(tmp_path)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert result.returncode == 1
        assert "the package 'controller' was loaded from" in result.stderr
        assert "Traceback" not in result.stderr


def sources_topologies() -> list[Path]:
    return list((ROOT / "topologies").iterdir())
