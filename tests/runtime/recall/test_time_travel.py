"""A store as it was before a turn shows nothing that was said later."""

from slowcat_memory.runtime.recall.time_travel import StoreThen
from tests.support.namespace_scene import Scene


def test_a_store_before_a_turn_shows_no_later_turn_by_any_way_to_read_turns(tmp_path):
    scene = Scene(tmp_path)
    turns = scene.talk(6)
    scene.store.flush()
    with StoreThen(scene.store, turns[3].at, turns[3].id - 1).snapshot() as snapshot:
        earlier = [turn.id for turn in turns[:3]]
        assert [turn.id for turn in snapshot.turns("anna")] == earlier
        assert [turn.id for turn in snapshot.latest_turns("anna")] == earlier[::-1]
        assert snapshot.turn(turns[4].id) is None
    scene.store.close()
