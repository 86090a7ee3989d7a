"""Which files are Heald's: the start-up check for shadowed packages, and the shipped topologies.

`controller` and `apps` are common names. Where another distribution or a directory on PYTHONPATH
takes one of them, the first symptom would be an odd ImportError deep inside, so each entry point
calls `require_own_packages` first. The check lives here because `heald` is the name that cannot be
taken: code inside a shadowed package never runs. Standard library only.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import metadata
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path

__all__ = [
    "ForeignPackageError",
    "check_own_packages",
    "require_own_packages",
    "topologies_dir",
]

DISTRIBUTION = "heald"
OWN_PACKAGES = ("controller", "apps")

_MARK = f'__distribution__ = "{DISTRIBUTION}"'
_ROOT = Path(__file__).resolve().parent.parent


class ForeignPackageError(ImportError):
    """`controller` or `apps` is not the package of this distribution."""


def check_own_packages(names: Sequence[str] = OWN_PACKAGES, root: Path = _ROOT) -> None:
    """Raise ForeignPackageError unless every package in `names` is Heald's, from beside `heald`."""
    for name in names:
        init = _init_file(name)
        if init is None:
            raise ForeignPackageError(
                f"heald: the package {name!r} is missing beside {root / DISTRIBUTION}; "
                "reinstall Heald: pip install --force-reinstall --no-deps heald"
            )
        expected = root / name
        if init.parent.resolve() != expected:
            raise ForeignPackageError(
                f"heald: the package {name!r} was loaded from {init}, not from {expected}; "
                f"take that directory off PYTHONPATH, or install Heald into an environment of its "
                f"own: {init.parent.parent} comes first on sys.path"
            )
        if not _is_marked(init):
            raise ForeignPackageError(
                f"heald: the package {name!r} in {init} was overwritten by "
                f"{_other_owner(name)}; install Heald into an environment of its own"
            )


def require_own_packages() -> None:
    """`check_own_packages` for entry points: ends the process with one line, no traceback."""
    try:
        check_own_packages()
    except ForeignPackageError as error:
        raise SystemExit(str(error)) from None


def topologies_dir() -> Path:
    """Where the example topologies are: the checkout's own, or those that the wheel installed."""
    checkout = _ROOT / "topologies"
    if (_ROOT / "pyproject.toml").is_file() and checkout.is_dir():
        return checkout
    # RECORD knows the place under every install scheme (venv, --user, --prefix, --target).
    for file in metadata.files(DISTRIBUTION) or []:
        if file.match(f"share/{DISTRIBUTION}/topologies/*"):
            return Path(str(file.locate())).resolve().parent
    raise FileNotFoundError("heald: the topologies are not installed; reinstall Heald")


def _init_file(name: str) -> Path | None:
    """The __init__.py of a package, without running it; None if there is none to import."""
    module = sys.modules.get(name)
    spec: ModuleSpec | None = module.__spec__ if module is not None else find_spec(name)
    if spec is None:
        return None
    if spec.origin is not None and spec.has_location:
        return Path(spec.origin)
    # A namespace package: a directory of that name without __init__.py.
    for location in spec.submodule_search_locations or []:
        return Path(location) / "__init__.py"
    return None


def _is_marked(init: Path) -> bool:
    try:
        return _MARK in init.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False


def _other_owner(package: str) -> str:
    """Best effort, for the error text only: which other distribution claims this package."""
    owners = metadata.packages_distributions().get(package, [])
    others = sorted({owner for owner in owners if owner.lower() != DISTRIBUTION})
    return " and ".join(others) if others else "another distribution"
