"""``heald warm-up``: compile the optimizer's kernels into the user's cache."""

from __future__ import annotations

import sys
import time

import click


@click.command(
    name="warm-up",
    epilog="""\b
The code is kept in $CACHE_DIRECTORY, $XDG_CACHE_HOME/heald or ~/.cache/heald, and serves every
process of this user. Without it a controller compiles as it starts, which takes a while.
""",
)
def warm_up() -> None:
    """Compile the optimizer's kernels, so that the first plan does not wait for it."""
    from controller.optimizer import kernels, warm

    if kernels.problem:
        sys.exit(f"warm-up: {kernels.problem}")
    began = time.perf_counter()
    warm.warm_up()
    where = kernels.cache_dir or "no directory, for none is writable: each process compiles anew"
    click.echo(
        f"kernels ready in {time.perf_counter() - began:.1f} s, {kernels.compiled()} of them "
        f"compiled just now; kept in {where}"
    )
