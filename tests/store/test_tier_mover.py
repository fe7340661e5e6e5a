"""Tiers change how texts are kept, never what is read."""

from slowcat_memory.core.retention import TierOptions
from slowcat_memory.records import LedgerEntry, Offer, WriteBatch
from tests.harness.samples import at, edge, memory, turn
from tests.support.tiered_stores import TIERS, age, check_places, events, every_block, rows, say


def test_tier_mover_everything_reads_as_before(open_store):
    store = open_store()
    store.append(edge(session="s0"))
    said = [store.append(edge(session="s0")).event, *say(store, 300)]
    before, sessions = events(store), _sessions(store)
    aged = age(store)
    assert aged.done
    assert aged.warmed >= 270 and aged.cooled >= 240
    assert events(store) == before
    assert events(store, scope="anna", after=50, upto=99) == before[50:99]
    assert _sessions(store) == sessions
    with store.snapshot() as snapshot:
        assert [snapshot.turn(event.id) for event in said[1:]] == said[1:]
        counts = snapshot.counts()
        assert counts["log"] + counts["places"] == counts["log_by_scope"] == 302
    check_places(store)
    store.close()
    with open_store(readonly=True) as readonly:
        assert events(readonly) == before
    assert events(open_store()) == before


def _sessions(store):
    with store.snapshot() as snapshot:
        return snapshot.sessions()


def test_tier_mover_tiers_hold_what_their_sizes_say(store):
    say(store, 300)
    age(store)
    with store.snapshot() as snapshot:
        tiers = snapshot.tiers()
    assert list(tiers) == ["hot", "warm", "cold"]
    assert sum(held.memories for held in tiers.values()) == 300
    assert 10 <= tiers["hot"].memories <= 10 + 2 * TIERS.block_exchanges
    assert 12 <= tiers["warm"].memories <= 20
    assert tiers["cold"].blocks == len(rows(store, "cold")) > 30


def test_tier_mover_a_second_round_has_nothing_to_do_and_later_turns_follow(store):
    say(store, 100)
    age(store)
    packed = rows(store, "log"), rows(store, "cold")
    again = age(store)
    assert (again.warmed, again.cooled) == (0, 0)
    assert (rows(store, "log"), rows(store, "cold")) == packed
    for n in range(101, 161):
        store.append(turn(n, session=f"s{n // 30}"))
    store.flush()
    assert age(store).warmed >= 50
    check_places(store)
    with store.snapshot() as snapshot:
        assert snapshot.tiers()["hot"].memories <= 10 + 2 * TIERS.block_exchanges


def test_tier_mover_sessions_that_go_on_wait_until_a_block_is_full(store):
    say(store, 60, session=lambda n: f"s{n % 3}")
    age(store)
    sizes = [len(block.ids) for block in every_block(store).values()]
    assert set(sizes) == {2 * TIERS.block_exchanges}
    assert {b.head.session for b in every_block(store).values()} == {"s0", "s1", "s2"}
    for n in range(61, 100):
        store.append(turn(n, session="s9"))
    store.flush()
    age(store)
    check_places(store)
    assert all(n > 60 or n in {i for b in every_block(store).values() for i in b.ids}
               for n in range(1, 61))  # fmt: skip


def test_tier_mover_many_sessions_at_once_do_not_hold_each_other_up(store, monkeypatch):
    monkeypatch.setattr("slowcat_memory.store.tier_mover.SLICE", 8)
    say(store, 200, session=lambda n: f"s{n % 20}")
    assert age(store).done
    check_places(store)
    assert len(every_block(store)) >= 20


def test_tier_mover_other_namespaces_are_left_alone(store):
    say(store, 50)
    say(store, 50, scope="bob", session=lambda n: "b")
    age(store)
    assert {block.head.scope for block in every_block(store).values()} == {"anna"}
    store.age("bob", hot=0, options=TIERS)
    assert {block.head.scope for block in every_block(store).values()} == {"anna", "bob"}
    assert store.age("nobody").done


def test_tier_mover_it_stops_between_two_transactions_and_goes_on_later(store):
    before = say(store, 300)
    asked = iter([False] * 3 + [True] * 100)
    stopped = age(store, stop=lambda: next(asked))
    assert not stopped.done and 0 < stopped.warmed < 290
    check_places(store)
    assert events(store) == before
    assert age(store).done
    assert events(store) == before
    check_places(store)


def test_tier_mover_pinned_and_recalled_blocks_stay_warm_longer(store):
    say(store, 120)
    age(store, options=TierOptions(block_exchanges=4, warm=1000))
    pinned = memory("chunk/5", sources=(5,), pinned=True)
    store.apply("person", WriteBatch(memories=(pinned,))).wait()
    for n in (30, 31, 32):
        offers = (Offer("chunk/50", 0.5),)
        store.write_ledger(LedgerEntry(turn=n, scope="anna", session="s", at=at(n), offers=offers))
    store.flush()
    age(store, options=TierOptions(block_exchanges=4, warm=24), now=at(1000))
    warm = {id for n in rows(store, "warm") for id in every_block(store)[n].ids}
    assert {5, 50} <= warm
    assert 10 not in warm and 90 not in warm


def test_tier_mover_appending_goes_on_while_it_works(store):
    say(store, 300)
    acks = []

    def speak():
        acks.append(store.append(turn(300 + len(acks) + 1, session="now")))
        return False

    age(store, stop=speak)
    assert len(acks) > 5
    for ack in acks:
        ack.wait(30)
    assert [event.id for event in events(store)] == list(range(1, 301 + len(acks)))
    check_places(store)
