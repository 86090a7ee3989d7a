"""Templates give the bytes of the codec, whatever was encoded before."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controller.openflow.codec import encode
from controller.openflow.flow_templates import FlowModEncoder
from controller.openflow.messages import FlowMod
from controller.openflow.model import ApplyActions, Field, Match, MatchField, Output
from tests.openflow import message_values

VERSIONS = (4, 5, 6)
ENCODERS = {version: FlowModEncoder(version) for version in VERSIONS}
STRATEGIES = {v: message_values.messages(v)[FlowMod] for v in VERSIONS}


@pytest.mark.parametrize("version", VERSIONS)
@settings(max_examples=100, suppress_health_check=list(HealthCheck), deadline=None)
@given(chosen=st.data())
def test_the_same_shape_with_other_values(version: int, chosen: st.DataObject) -> None:
    message = chosen.draw(STRATEGIES[version])
    values = [chosen.draw(message_values.bits(f.field.bits)) for f in message.match.fields]
    other = FlowMod(
        message.command,
        chosen.draw(message_values.u8),
        chosen.draw(message_values.u16),
        Match(
            tuple(
                MatchField(f.field, v if f.mask is None else v & f.mask, f.mask)
                for f, v in zip(message.match.fields, values, strict=True)
            )
        ),
        tuple(message.instructions),
        chosen.draw(message_values.u64),
        *(getattr(message, name) for name in list(FlowMod.__dataclass_fields__)[6:]),
    )
    for flow_mod in (message, other, message):
        assert ENCODERS[version].encode(flow_mod, 7) == encode(flow_mod, version, 7)


@pytest.mark.parametrize("field", [Field.ETH_DST, Field.IPV6_DST, Field.IP_DSCP, Field.IN_PORT])
def test_what_the_codec_refuses_no_template_encodes(field: Field) -> None:
    encoder = FlowModEncoder(6)
    apply = (ApplyActions((Output(1),)),)
    encoder.encode(FlowMod(0, 0, 0, Match((MatchField(field, 1),)), apply))
    for value in (-1, field.all_ones + 1):
        with pytest.raises(ValueError, match="does not fit"):
            encoder.encode(FlowMod(0, 0, 0, Match((MatchField(field, value),)), apply))
    encoder.encode(FlowMod(0, 0, 0, Match((MatchField(field, 2, 2),)), apply))
    with pytest.raises(ValueError, match="does not fit"):
        encoder.encode(FlowMod(0, 0, 0, Match((MatchField(field, 3, 2),)), apply))
    with pytest.raises(ValueError, match="FlowMod"):
        encoder.encode(FlowMod(0, 256, 0, Match((MatchField(field, 1),)), apply))
