"""heald_compat: what the stock ryu-manager gets, and that no other process notices it."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHIM = ROOT / "shim"


def python(
    code: str, *argv: str, path: tuple[Path, ...] = (SHIM,)
) -> subprocess.CompletedProcess[str]:
    """Run code in a new interpreter with `path` first, as site does with the .pth line."""
    pth = (SHIM / "heald_compat.pth").read_text()
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    env["PYTHONPATH"] = os.pathsep.join(map(str, path))
    return subprocess.run(
        [sys.executable, "-c", f"{pth}\n{textwrap.dedent(code)}", *argv],
        env=env,
        cwd=path[0],  # -c puts the working directory before PYTHONPATH
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def package(root: Path, name: str, **modules: str) -> None:
    """A package with the given source for each module (`init` is __init__)."""
    folder = root / name
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    for module, source in modules.items():
        file = "__init__.py" if module == "init" else f"{module}.py"
        (folder / file).write_text(textwrap.dedent(source))


def test_pth_is_one_line_that_starts_with_import() -> None:
    # site executes only such lines, and skips what it cannot decode.
    lines = (SHIM / "heald_compat.pth").read_text(encoding="ascii").splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("import ")


def test_start_imports_nothing_else() -> None:
    result = python(
        """
        import sys
        before = set(sys.modules)
        del sys.modules["heald_compat"]
        sys.meta_path[:] = [f for f in sys.meta_path if f.__module__ != "heald_compat"]
        import heald_compat
        print(sorted(set(sys.modules) - before))
        """
    )
    assert result.stdout.strip() == "[]", result.stderr
    assert result.stderr == ""


def test_broken_install_is_silent(tmp_path: Path) -> None:
    (tmp_path / "heald_compat.py").write_text("raise RuntimeError('half written')")
    result = python("print('fine')", path=(tmp_path,))
    assert (result.stdout, result.stderr) == ("fine\n", "")


def test_missing_modules_stay_missing(tmp_path: Path) -> None:
    package(tmp_path, "ryu")
    result = python(
        """
        import ryu
        from importlib.util import find_spec
        print(find_spec("ryu.flags"))
        try:
            import ryu.flags
        except ModuleNotFoundError as error:
            print(error.name)
        """,
        path=(tmp_path, SHIM),
    )
    assert result.stdout.split() == ["None", "ryu.flags"], result.stderr


@pytest.mark.parametrize(
    ("source", "expected"),
    [("", "[]"), ("ALREADY_HANDLED = 'kept'", "kept")],
    ids=["absent", "present"],
)
def test_already_handled(tmp_path: Path, source: str, expected: str) -> None:
    package(tmp_path, "eventlet", wsgi=source)
    result = python(
        """
        from importlib.util import find_spec
        find_spec("eventlet.wsgi")  # a look must not use the hook up
        from eventlet.wsgi import ALREADY_HANDLED
        print(ALREADY_HANDLED)
        """,
        path=(tmp_path, SHIM),
    )
    assert result.stdout.strip() == expected, result.stderr


def test_eventlet_banner_is_silent_under_ryu_only() -> None:
    assert "Eventlet is deprecated" in python("import eventlet").stderr
    assert "Eventlet is deprecated" not in python("import ryu.lib.hub").stderr


FLAGS = """
from argparse import Namespace
CONF = Namespace(options=[])
"""
REGISTER = """
def register(conf):
    conf.options.append("fabric-topology")
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A place with a ryu of two lines and the marked packages of Heald."""
    mark = '__distribution__ = "heald"'
    package(tmp_path, "ryu", flags=FLAGS)
    package(tmp_path, "controller", init=mark)
    package(tmp_path, "apps", init=mark, flags=REGISTER)
    package(tmp_path, "heald", distribution=(ROOT / "heald/distribution.py").read_text())
    return tmp_path


SHOW = "import ryu.flags; print(ryu.flags.CONF.options)"


def test_options_are_registered_with_ryu_flags(site: Path) -> None:
    result = python(SHOW, path=(site, SHIM))
    assert result.stdout.strip() == "['fabric-topology']", result.stderr


def test_uninstalled_heald_leaves_ryu_alone(site: Path) -> None:
    (site / "heald/distribution.py").unlink()
    result = python(SHOW, "apps.fabric", path=(site, SHIM))
    assert (result.stdout.strip(), result.stderr) == ("[]", "")


@pytest.mark.parametrize("name", ["controller", "apps"])
def test_foreign_package_is_named_to_who_starts_an_app_of_ours(
    site: Path, tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    other = tmp_path_factory.mktemp("other")
    package(other, name, flags="raise RuntimeError('never to be run')")
    result = python(SHOW, "apps.fabric", path=(other, site, SHIM))
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert str(other / name) in result.stderr

    stranger = python(SHOW, "their.app", path=(other, site, SHIM))
    assert (stranger.returncode, stranger.stdout.strip(), stranger.stderr) == (0, "[]", "")


def test_an_error_in_our_options_is_seen(site: Path) -> None:
    (site / "apps/flags.py").write_text("def register(conf): raise ValueError('bad option')")
    result = python(SHOW, path=(site, SHIM))
    assert result.returncode == 1
    assert "bad option" in result.stderr
