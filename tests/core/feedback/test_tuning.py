import pytest
from msgspec.structs import replace

from slowcat_memory.core.feedback.tuning import Tuning
from slowcat_memory.core.ranking.fusion import FuseOptions

KNOWN = Tuning(weights={"dense": 0.3, "turn": 0.1}, queries=80, after=0.5, version=1)


def test_a_note_comes_back_whole() -> None:
    assert Tuning.read(KNOWN.note()) == KNOWN


@pytest.mark.parametrize("note", ["", "{", "[]", '{"weights": 1}', '{"version": 99, "queries": 5}'])
def test_an_unreadable_note_or_another_version_is_nothing(note: str) -> None:
    assert Tuning.read(note) == Tuning()


def test_learned_weights_are_taken() -> None:
    taken = KNOWN.apply(FuseOptions())
    assert (taken.dense, taken.turn, taken.tokens) == (0.3, 0.1, FuseOptions().tokens)
    keyed = replace(KNOWN, keyed=True).apply(FuseOptions())
    assert (keyed.turn, keyed.turn_with_keys) == (FuseOptions().turn, 0.1)
    window = replace(KNOWN, keyed=True, weights={"window": 0.3}).apply(FuseOptions())
    assert (window.window, window.window_with_keys) == (FuseOptions().window, 0.3)


@pytest.mark.parametrize("changed", [{"dense": 0.5}, {"keys": 0.1}])
def test_who_sets_weights_by_hand_is_left_alone(changed: dict) -> None:
    options = replace(FuseOptions(), **changed)
    assert KNOWN.apply(options) == options


def test_a_view_that_is_no_more_is_passed_over() -> None:
    odd = replace(KNOWN, weights={"gone": 1.0})
    assert odd.apply(FuseOptions()) == FuseOptions()
