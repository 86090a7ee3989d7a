"""What the stock `ryu-manager` needs to run Heald; heald_compat.pth imports it at each start.

It only puts a finder on sys.meta_path; the rest happens when, and only when, one of three modules
is imported. Every Python process of the environment pays for this file, so it imports nothing.

    ryu            warnings about eventlet and about Ryu's own source are filtered
    eventlet.wsgi  ALREADY_HANDLED is back, which Ryu 4.34 imports and eventlet 0.30.3 removed
    ryu.flags      Heald's options are registered before ryu-manager parses its command line
"""

import sys

__all__: list = []


def _before_ryu(_module):
    # Ryu cannot leave eventlet and is not developed on, so its user can do nothing about these.
    import logging
    import warnings

    warnings.filterwarnings("ignore", message=r"\s*Eventlet is deprecated")
    # Locks made before eventlet patches threading, which is the first thing that Ryu has it do.
    logging.lastResort.addFilter(lambda record: "were not greened" not in record.getMessage())
    warnings.filterwarnings("ignore", category=SyntaxWarning, module=r".*[/\\]ryu[/\\]")


def _after_wsgi(module):
    if not hasattr(module, "ALREADY_HANDLED"):
        # A list, for eventlet iterates what a WebSocket handler returns.
        module.ALREADY_HANDLED = []


def _after_flags(module):
    try:
        from heald.distribution import ForeignPackageError, check_own_packages
    except ImportError:
        return  # Heald is gone or half removed: stock Ryu works on.
    try:
        check_own_packages()
        from apps.flags import register
    except ForeignPackageError as error:
        # The user of another Ryu app need not hear of it.
        if any(arg.startswith("apps.") for arg in sys.argv[1:]):
            raise SystemExit(str(error)) from None
        return
    register(module.CONF)


# module name: (call before its code runs, call after)
_HOOKS = {
    "ryu": (_before_ryu, None),
    "eventlet.wsgi": (None, _after_wsgi),
    "ryu.flags": (None, _after_flags),
}


class _Finder:
    """Finds nothing itself: wraps the loader of a hooked module."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in _HOOKS:
            return None
        from importlib.machinery import PathFinder

        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return spec
        before, after = _HOOKS[name]
        exec_module = spec.loader.exec_module

        def wrapped(module):
            if before is not None:
                before(module)
            exec_module(module)
            if after is not None:
                after(module)

        spec.loader.exec_module = wrapped
        return spec


if _Finder not in sys.meta_path:
    sys.meta_path.insert(0, _Finder)
