"""``python -m controller.lab.cleanup``: remove what labs left behind that died by kill -9."""

from __future__ import annotations

from controller.lab.rundir import remove_dead


def main() -> None:
    for run_dir in remove_dead():
        print(f"removed the dead lab in {run_dir}")


if __name__ == "__main__":
    main()
