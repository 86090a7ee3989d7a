"""A probe is believed when this controller made it, and in no other case."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from controller.discovery.probe import KEY_BYTES, MAX_FRAME_BYTES, Probe, Rejection, Seal

DPIDS, PORTS = st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 1)
PROBES = st.builds(Probe, DPIDS, PORTS, st.integers(0, 2**64 - 1))
KEY = bytes(range(KEY_BYTES))
SEAL = Seal("lab/default", 7, KEY)


def frame(probe: Probe, seal: Seal = SEAL) -> bytes:
    return seal.probe(probe.dpid, probe.port, probe.nonce)


@given(PROBES)
def test_what_is_sent_is_known_again(probe: Probe) -> None:
    assert SEAL.open(frame(probe)) == probe
    assert len(frame(probe)) <= MAX_FRAME_BYTES


def test_a_frame_is_lldp_that_any_analyser_reads() -> None:
    sent = frame(Probe(0x1A, 11, 5))
    assert sent[:6].hex(":") == "01:80:c2:00:00:0e" and sent[12:14] == b"\x88\xcc"
    tlvs, at = [], 14
    while at < len(sent):
        head = int.from_bytes(sent[at : at + 2], "big")
        tlvs.append((head >> 9, sent[at + 2 : at + 2 + (head & 0x1FF)]))
        at += 2 + (head & 0x1FF)
    kinds = [kind for kind, _ in tlvs]
    assert kinds == [1, 2, 3, 127, 0]
    assert tlvs[0][1] == b"\x07000000000000001a" and tlvs[1][1] == b"\x0711"
    assert at == len(sent)


@given(PROBES, st.data())
def test_no_changed_bit_is_believed(probe: Probe, data: st.DataObject) -> None:
    changed = bytearray(frame(probe))
    at = data.draw(st.integers(0, len(changed) - 1))
    changed[at] ^= 1 << data.draw(st.integers(0, 7))
    assert isinstance(SEAL.open(bytes(changed)), Rejection)


@given(PROBES, st.data())
def test_no_cut_and_nothing_after_the_end_is_believed(probe: Probe, data: st.DataObject) -> None:
    sent = frame(probe)
    cut = data.draw(st.integers(0, len(sent) - 1))
    assert isinstance(SEAL.open(sent[:cut]), Rejection)
    assert isinstance(SEAL.open(sent + data.draw(st.binary(min_size=1, max_size=80))), Rejection)


@given(
    st.binary(max_size=300) | st.binary(max_size=200).map(lambda b: frame(Probe(1, 1, 1))[:34] + b)
)
def test_any_bytes_may_come(data: bytes) -> None:
    assert isinstance(SEAL.open(data), Rejection)


def test_each_reason_is_told_apart() -> None:
    probe = Probe(1, 2, 3)
    lldpd = bytes.fromhex("0180c200000e020000000001" + "88cc" + "0207040200000000010403056531")
    sent = frame(probe)
    assert SEAL.open(lldpd + b"\x06\x02\x00\x78\x00\x00") is Rejection.OTHER
    assert SEAL.open(sent.replace(b"\x88\xcc", b"\x08\x00", 1)) is Rejection.OTHER
    assert SEAL.open(frame(probe, Seal("other/default", 7, KEY))) is Rejection.FOREIGN
    assert SEAL.open(frame(probe, Seal("lab/default", 6, KEY))) is Rejection.FOREIGN
    assert SEAL.open(frame(probe, Seal("lab/default", 7, KEY[::-1]))) is Rejection.FORGED
    begins = sent.index(bytes.fromhex("0e484501"))
    short = sent[: begins - 2] + (127 << 9 | 4).to_bytes(2, "big") + sent[begins : begins + 4]
    assert SEAL.open(short) is Rejection.MALFORMED
