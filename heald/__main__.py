"""`heald` and `python -m heald`: the start-up check, then the command line of the brain.

The console script points here and not into `controller`, for a shadowed `controller` would end it
with a traceback before any check of ours could run.
"""

from heald.distribution import require_own_packages


def main() -> None:
    require_own_packages()
    from controller.cli.main import main as command

    command()


if __name__ == "__main__":
    main()
