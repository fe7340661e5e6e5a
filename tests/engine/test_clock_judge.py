"""The judgement of the clock outlasts restarts, marks turns, and ends when it should."""

from datetime import timedelta

import pytest
from loguru import logger

from slowcat_memory.engine.clock_judge import describe
from slowcat_memory.records import Turn
from tests.support.engine_home import Home

YEAR = timedelta(days=365)


def marked(home: Home, engine: object) -> list[bool]:
    engine.flush()  # type: ignore[attr-defined]
    with engine.snapshot() as snapshot:  # type: ignore[attr-defined]
        return [turn.doubted for turn in snapshot.turns()]


def test_judge_turns_are_always_dated_and_doubted_dates_are_marked(home: Home) -> None:
    engine = home.open()
    home.talk(engine, "one")
    home.clock.now += YEAR
    home.talk(engine, "two", "three")
    home.clock.now -= YEAR
    home.talk(engine, "four")
    assert marked(home, engine) == [False, True, True, False]
    with engine.snapshot() as snapshot:
        dates = [turn.at for turn in snapshot.turns()]
    assert dates[1] - dates[0] > YEAR / 2 and dates[3] < dates[1]


def test_judge_an_import_has_dates_of_its_own(home: Home) -> None:
    engine = home.open()
    home.clock.now += YEAR
    engine.append_all([home.turn("old words")])
    engine.store.flush()
    assert marked(home, engine) == [False]


def test_judge_a_doubt_outlasts_a_restart_until_the_user_confirms(home: Home) -> None:
    engine = home.open()
    home.clock.now += YEAR
    assert engine.wiring.clock_judge.doubt is not None
    engine.close()
    for _ in range(2):
        home.clock.advance(3600)
        engine = home.open()
        assert engine.wiring.clock_judge.doubt is not None
        engine.close()
    engine = home.open()
    assert engine.maintain("confirm clock") is True
    assert engine.maintain("confirm clock") is False
    engine.close()
    assert home.open().wiring.clock_judge.doubt is None


def test_judge_a_jump_just_before_a_kill_is_found_by_the_next_process_of_the_boot(
    home: Home,
) -> None:
    home.clock.boot = "a"
    engine = home.open()
    home.talk(engine)
    engine.store.close()  # no last look
    home.clock.now += timedelta(days=20)
    assert home.open().wiring.clock_judge.doubt is not None


def test_judge_a_clock_behind_the_last_turn_of_an_older_store_is_doubted(home: Home) -> None:
    engine = home.open()
    home.talk(engine)
    engine.store.write_clock(None).wait()  # type: ignore[arg-type]
    engine.store.close()
    home.clock.now -= timedelta(days=2)
    doubt = home.open().wiring.clock_judge.doubt
    assert doubt is not None and doubt.reason == "behind"


def test_judge_an_imported_future_does_not_make_the_clock_doubted(home: Home) -> None:
    engine = home.open()
    late = Turn(session="s", scope="anna", speaker="Anna", role="user", text="x",
                at=home.clock() + 10 * YEAR, origin="1")  # fmt: skip
    engine.append_all([late])
    engine.close()
    assert home.open().wiring.clock_judge.doubt is None


def test_judge_a_reader_judges_and_writes_nothing(home: Home) -> None:
    home.open().close()
    home.clock.now += YEAR
    reader = home.open(readonly=True)
    assert reader.wiring.clock_judge.doubt is not None
    assert reader.stats()["clock_doubted"].startswith("nothing ran for 365 days")
    reader.close()
    home.clock.now -= YEAR
    assert home.open().wiring.clock_judge.doubt is None


def test_judge_one_line_says_what_is_doubted_and_the_remedy(home: Home) -> None:
    lines: list[str] = []
    engine = home.open()
    sink = logger.add(lambda message: lines.append(str(message)), level="INFO", format="{message}")
    try:
        home.clock.now += YEAR
        for _ in range(3):
            engine.wiring.clock_judge.look()
        home.clock.now -= YEAR
        engine.wiring.clock_judge.look()
    finally:
        logger.remove(sink)
    doubted, believed = lines
    assert "jumped 365 days ahead" in doubted and "doctor --clock-is-right" in doubted
    assert "believed again" in believed


@pytest.mark.parametrize(
    ("off", "words"),
    [
        (timedelta(days=-3), "jumped 3 days back"),
        (timedelta(minutes=90), "jumped 90 minutes ahead"),
        (timedelta(seconds=70), "jumped 70 seconds ahead"),
    ],
)
def test_describe_says_how_far(home: Home, off: timedelta, words: str) -> None:
    engine = home.open()
    home.clock.now += off
    doubt = engine.wiring.clock_judge.doubt
    assert doubt is not None and words in describe(doubt)
