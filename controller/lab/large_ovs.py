"""Hundreds of bridges of one Open vSwitch whose data path is a dummy: no root, no packets."""

from __future__ import annotations

from controller.lab.emulated import EmulatedLab


class OvsLab(EmulatedLab):
    pass
