"""Tables that fill: who is told, and when."""

from __future__ import annotations

import dataclasses
from typing import Any

from controller.openflow import bodies
from controller.openflow import messages as m
from controller.openflow.codec import encode
from controller.openflow.model import Field, Match
from tests.emulator.bench import Bench, flow, heard

DOWN, UP = m.TableReason.VACANCY_DOWN, m.TableReason.VACANCY_UP


def bench_with_room(flows: int) -> Bench:
    bench = Bench()
    state = bench.switch.state
    state.persona = dataclasses.replace(state.persona, max_flows=flows)
    bench.say(
        m.SetAsync((m.AsyncMask(m.AsyncEvent.TABLE_STATUS_PRIMARY, 0b11000),)),
        m.TableMod(0, m.TableConfig.VACANCY_EVENTS, vacancy=m.Vacancy(30, 60)),
    )
    return bench


def told(said: list[Any]) -> list[tuple[int, int]]:
    """(reason, percent that is free) of each table status."""
    found = []
    for each in said:
        if isinstance(each, m.TableStatus):
            assert each.table.vacancy is not None
            found.append((each.reason, each.table.vacancy.now))
    return found


def commit(bench: Bench, *requests: Any, before: tuple[Any, ...] = ()) -> list[Any]:
    """What is said to these requests in a bundle, in one piece with others before it."""
    first = bench.xid + len(before) + 2
    opened, done = (
        m.BundleControl(1, command, 3)
        for command in (m.BundleCommand.OPEN_REQUEST, m.BundleCommand.COMMIT_REQUEST)
    )
    adds = [
        m.BundleAdd(1, encode(each, bench.version, xid), 3)
        for xid, each in enumerate(requests, first)
    ]
    return bench.ask(*before, opened, *adds, done)


def test_a_table_tells_once_when_it_fills_and_once_when_it_has_room_again() -> None:
    bench = bench_with_room(10)
    adding = [told(bench.ask(flow({Field.ETH_DST: n}))) for n in range(10)]
    assert adding == [[]] * 7 + [[(DOWN, 20)], [], []]
    removing = [
        told(bench.ask(m.FlowMod(m.FlowCommand.DELETE, 0, 0, Match.of({Field.ETH_DST: n}))))
        for n in range(10)
    ]
    assert removing == [[]] * 6 + [[(UP, 70)], [], [], []]


def test_flows_that_expire_make_room_of_which_is_told() -> None:
    bench = bench_with_room(10)
    bench.say(*(flow({Field.ETH_DST: n}, hard_timeout=1 + n) for n in range(9)))
    assert told(heard(bench.pass_time(5.0))) == []
    assert told(heard(bench.pass_time(6.5))) == [(UP, 70)]


def test_a_bundle_is_told_of_as_a_whole() -> None:
    bench = bench_with_room(10)
    everything = m.FlowMod(m.FlowCommand.DELETE, 0, 0, Match())
    nine = [flow({Field.ETH_DST: n}) for n in range(9)]
    assert told(commit(bench, *nine)) == [(DOWN, 10)]
    assert told(commit(bench, everything, *nine)) == []
    assert told(commit(bench, everything)) == [(UP, 100)]


def test_who_did_not_ask_is_not_told_but_may_look() -> None:
    bench = bench_with_room(10)
    bench.say(m.SetAsync((m.AsyncMask(m.AsyncEvent.TABLE_STATUS_PRIMARY, 0),)))
    assert not told(bench.ask(*(flow({Field.ETH_DST: n}) for n in range(9))))
    (reply,) = bench.ask(bodies.TableDescRequest())
    assert isinstance(reply, bodies.TableDescReply)
    assert reply.tables[0].vacancy == m.Vacancy(30, 60, 10)
    assert reply.tables[1].vacancy is None


def test_marks_that_make_no_sense_are_refused() -> None:
    bench = bench_with_room(10)
    for marks in (m.Vacancy(60, 30), m.Vacancy(10, 101), m.Vacancy(10, 20, 1)):
        request = m.TableMod(0, m.TableConfig.VACANCY_EVENTS, vacancy=marks)
        assert bench.errors(request) == [(14, 2)]


def test_a_bundle_that_fails_keeps_what_was_removed_before_it() -> None:
    bench = Bench()
    bench.say(flow({Field.ETH_DST: 1}, flags=m.FlowFlag.SEND_FLOW_REM))
    remove = m.FlowMod(m.FlowCommand.DELETE, 0, 0, Match())
    fails = m.GroupMod(m.GroupCommand.MODIFY, 1, 5)
    said = commit(bench, fails, before=(remove,))
    assert [each.reason for each in said if isinstance(each, m.FlowRemoved)] == [2]
