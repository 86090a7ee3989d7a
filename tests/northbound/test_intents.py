"""The life of intents as a platform sees it, through the client library and a real server."""

from __future__ import annotations

import threading

import pytest

from controller.intents.model import IntentState as S
from heald import HealdError, IntentFailedError, connectivity, intent_name
from heald.v1 import intents_pb2 as pb
from tests.northbound.harness import Served

A, B = intent_name("a"), intent_name("b")


def test_an_applied_intent_is_stored_before_the_reply_and_the_engine_hears_of_it(
    north: Served,
) -> None:
    with north.client() as client:
        answer = client.apply([connectivity("a", hosts=["h1", "h2"], labels={"team": "research"})])
        intent = answer.intents[0]
        assert intent.name == A
        assert (intent.generation, intent.status.state) == (1, pb.PENDING)
        assert intent.etag
        assert intent.create_time.seconds > 0
        assert north.brain.changes == [answer.revision]
        stored = north.run(north.store.get(f"lab/default/{A}"))
        assert stored is not None
        assert stored.revision == answer.revision
        assert client.get("a") == intent


def test_a_restart_finds_every_intent_with_its_state(north: Served) -> None:
    with north.client() as client:
        client.apply([connectivity("a", all=True), connectivity("b", hosts=["h1"])])
        north.report("a", S.PLANNED, S.INSTALLING, S.ACTIVE)
        client.delete("b")
        before = list(client.list())
        north.stop()
        north.start()
        assert list(client.list()) == before
        assert [i.status.state for i in before] == [pb.ACTIVE, pb.WITHDRAWING]


def test_one_bad_intent_spoils_the_batch_and_everything_wrong_is_said_at_once(
    north: Served,
) -> None:
    bad = pb.Intent(name="tenants/default/intents/Bad_Name", labels={"k": "not a value"})
    with north.client() as client, pytest.raises(HealdError) as caught:
        client.apply(
            [
                connectivity("a", hosts=["h1", "h2"]),
                connectivity("b", hosts=["h1", "h2", "h33"], nics=["h1/eth9"]),
                bad,
                connectivity("a", match_labels={"pood": "a"}),
                connectivity("c", nics=["h1/eth0"]),
                connectivity("d"),
            ]
        )
    assert caught.value.code == "INVALID_ARGUMENT"
    found = {v.field: v.description for v in caught.value.violations}
    endpoints = "spec.connectivity.endpoints"
    assert set(found) == {
        f"intents[1].{endpoints}.hosts[2]",
        f"intents[1].{endpoints}.nics[0]",
        "intents[2].name",
        "intents[2].labels[k]",
        "intents[2].spec",
        "intents[3].name",
        f"intents[3].{endpoints}.match_labels[pood]",
        f"intents[4].{endpoints}",
        f"intents[5].{endpoints}",
    }
    assert "did you mean 'h3'" in found[f"intents[1].{endpoints}.hosts[2]"]
    assert "did you mean 'pod'" in found[f"intents[3].{endpoints}.match_labels[pood]"]
    assert not north.book.intents
    assert not north.run(north.store.range("")).items
    assert not north.brain.changes


def test_a_thousand_mistakes_still_make_a_readable_error(north: Served) -> None:
    names = [f"{'x' * 300}{i}" for i in range(1000)]
    with north.client() as client, pytest.raises(HealdError) as caught:
        client.apply([connectivity("a", hosts=names)])
    assert caught.value.code == "INVALID_ARGUMENT"
    assert len(caught.value.violations) > 3
    assert "more" in caught.value.violations[-1].description


def test_validate_only_says_what_would_be_and_changes_nothing(north: Served) -> None:
    with north.client() as client:
        answer = client.apply([connectivity("a", all=True)], validate_only=True)
        assert answer.intents[0].generation == 1
        with pytest.raises(HealdError):
            client.apply([connectivity("a", hosts=["nope"])], validate_only=True)
        assert list(client.list()) == []
        client.apply([connectivity("a", all=True)])
        client.delete("a", validate_only=True)
        assert client.get("a").status.state == pb.PENDING


def test_generation_counts_specs_etag_follows_labels_too(north: Served) -> None:
    with north.client() as client:
        first = client.apply([connectivity("a", hosts=["h1", "h2"])])
        again = client.apply([connectivity("a", hosts=["h1", "h2"])])
        assert again == first
        labelled = client.apply([connectivity("a", hosts=["h1", "h2"], labels={"x": "y"})])
        assert labelled.intents[0].generation == 1
        assert labelled.intents[0].etag != first.intents[0].etag
        north.report("a", S.PLANNED, S.INSTALLING, S.ACTIVE)
        changed = client.apply([connectivity("a", hosts=["h1", "h3"])]).intents[0]
        assert (changed.generation, changed.status.state) == (2, pb.PENDING)
        assert changed.status.observed_generation == 1


def test_an_etag_guards_against_lost_updates(north: Served) -> None:
    with north.client() as client:
        old = client.apply([connectivity("a", hosts=["h1", "h2"])]).intents[0]
        client.apply([connectivity("a", hosts=["h1", "h3"])])
        old.spec.connectivity.endpoints.hosts.append("h4")
        other = connectivity("b", all=True)
        with pytest.raises(HealdError) as caught:
            client.apply([other, old])
        assert caught.value.code == "ABORTED"
        assert [v.field for v in caught.value.violations] == ["intents[1].etag"]
        assert [i.name for i in client.list()] == [A]
        with pytest.raises(HealdError, match="not at"):
            client.delete("a", etag=old.etag)
        client.delete("a", etag=client.get("a").etag)


def test_of_racing_writers_with_etags_none_is_lost(north: Served) -> None:
    """Each adds one label by read, change, write; every one of them must be there in the end."""
    with north.client() as client:
        client.apply([connectivity("a", all=True)])

        def add(label: str) -> None:
            while True:
                intent = client.get("a")
                intent.labels[label] = "1"
                try:
                    client.apply([intent])
                    return
                except HealdError as error:
                    if error.code != "ABORTED":
                        raise

        threads = [threading.Thread(target=add, args=(f"l{i}",)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        assert sorted(client.get("a").labels) == [f"l{i}" for i in range(8)]


def test_a_request_sent_twice_is_done_once_even_across_a_restart(north: Served) -> None:
    with north.client() as client:
        mine = [connectivity("a", hosts=["h1", "h2"])]
        first = client.apply(mine, request_id="r1")
        client.apply([connectivity("a", hosts=["h1", "h3"])])
        north.stop()
        north.start()
        assert client.apply(mine, request_id="r1") == first
        assert list(client.get("a").spec.connectivity.endpoints.hosts) == ["h1", "h3"]
        with pytest.raises(HealdError) as caught:
            client.apply([connectivity("b", all=True)], request_id="r1")
        assert caught.value.violations[0].field == "request_id"
        gone = client.delete("a", request_id="r2")
        client.apply(mine)
        assert client.delete("a", request_id="r2") == gone
        assert client.get("a").status.state == pb.PENDING


def test_deleting_withdraws_until_the_engine_says_gone(north: Served) -> None:
    with north.client() as client:
        client.apply([connectivity("a", all=True)])
        north.report("a", S.PLANNED, S.INSTALLING, S.ACTIVE)
        assert client.delete("a").status.state == pb.WITHDRAWING
        assert client.delete("a").status.state == pb.WITHDRAWING
        north.report("a", S.ACTIVE)  # overtaken by the deletion
        assert client.get("a").status.state == pb.WITHDRAWING
        north.report("a", S.GONE)
        with pytest.raises(HealdError, match="there is no intent") as caught:
            client.get("a")
        assert caught.value.code == "NOT_FOUND"
        with pytest.raises(HealdError, match="there is no intent"):
            client.delete("a")
        assert client.delete("a", allow_missing=True).status.state == pb.GONE


def test_applying_again_cancels_a_withdrawal(north: Served) -> None:
    with north.client() as client:
        client.apply([connectivity("a", all=True)])
        client.delete("a")
        again = client.apply([connectivity("a", all=True)]).intents[0]
        assert (again.generation, again.status.state) == (2, pb.PENDING)
        north.report("a", S.PLANNED)
        assert client.get("a").status.state == pb.PLANNED


def test_lists_page_and_filter(north: Served) -> None:
    with north.client() as client:
        names = [f"i{i:03}" for i in range(250)]
        client.apply(
            [connectivity(n, all=True, labels={"odd": str(int(n[1:]) % 2)}) for n in names]
        )
        client.apply([connectivity("tenants/other/intents/x", all=True)])
        assert [i.name for i in client.list("default")] == [intent_name(n) for n in names]
        assert len(list(client.list())) == 251
        assert len(list(client.list("default", {"odd": "1"}))) == 125
        assert list(client.list("nobody")) == []
        with pytest.raises(HealdError, match="is no tenant"):
            list(client.list("Bad Tenant"))


def test_waiting_ends_when_active_or_hopeless(north: Served) -> None:
    with north.client() as client:
        client.apply([connectivity("a", all=True), connectivity("b", hosts=["h1"])])
        seen: list[int] = []
        north.report("b", S.PLANNED, S.ACTIVE)
        thread = threading.Thread(
            target=client.wait_active,
            args=(["a", "b"], 10, lambda i: seen.append(i.status.state)),
        )
        thread.start()
        north.report("a", S.PLANNED, S.INSTALLING, S.ACTIVE)
        thread.join(10)
        assert not thread.is_alive()
        assert seen[-1] == pb.ACTIVE

        client.apply([connectivity("a", hosts=["h1", "h2"])])
        with pytest.raises(IntentFailedError, match=r"not active after 0\.3 s: .*PENDING"):
            client.wait_active(["a"], 0.3)
        north.report("a", S.REJECTED, reason="LimitExceeded", message="no zone is left")
        with pytest.raises(IntentFailedError, match=r"REJECTED \(LimitExceeded\): no zone"):
            client.wait_active(["a"], 10)
        with pytest.raises(IntentFailedError, match="no intent"):
            client.wait_active(["c"], 10)
