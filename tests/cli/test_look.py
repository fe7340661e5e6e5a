"""search, show, why, replay, undo: what is in a memory, and what was ordered."""

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from slowcat_memory.cli.app import app
from slowcat_memory.cli.look import WORDS
from slowcat_memory.core.ranking.score import LeftOutReason
from slowcat_memory.core.render.memory_block import Packed
from slowcat_memory.core.summaries.summary import Coverage, SummaryText, summary
from slowcat_memory.records import Made, WriteBatch
from slowcat_memory.store import Store
from slowcat_memory.testing import memory_config
from tests.harness.samples import turn
from tests.support import said
from tests.support.memories import Look, engine_of

# ------------------------------------------------------------------- search, show, why: what is in a memory, without changing it


def test_look_search_shows_when_who_and_how_likely(filled) -> None:
    text = filled.ok("search", "what is the dog called", "--limit", "2")
    assert "2024-05-12  My dog is called Max." in text and "by words only" in text
    assert re.search(r"Anna · \d\d?% likely · turn 2\b", text) and "found by its" not in text
    assert "found by its" in filled.ok("search", "the dog", "--why")


def test_look_search_says_when_nothing_is_likely_to_answer(filled, monkeypatch) -> None:
    assert "Nothing there answers" not in filled("search", "what is the dog called").stderr
    monkeypatch.setattr("slowcat_memory.cli.look.UNLIKELY", 1.1)
    result = filled("search", "what is the dog called")
    assert "Nothing there answers that" in result.stderr and "Max" in result.stdout


def test_look_what_was_said_is_never_markup(filled) -> None:
    assert "[bold]everything[/]" in filled.ok("search", "everything")
    assert "[bold]everything[/]" in filled.ok("show", "--last", "9")


def test_look_a_search_in_an_empty_scope_names_the_others(filled) -> None:
    result = filled("search", "dog", "--scope", "nobody")
    assert result.exit_code == 1 and result.stdout == ""
    assert "Nothing is remembered of nobody; --user takes user." in result.stderr


def test_look_show_lists_sessions(filled) -> None:
    text = filled.ok("show")
    assert "2 sessions, 5 turns in scope user" in text and "We moved to Lisbon." in text
    assert [s["turns"] for s in filled.json("show")] == [3, 2]


def test_look_show_one_session_by_the_beginning_of_its_id(filled) -> None:
    first, second = (session["id"] for session in filled.json("show"))
    assert [t["id"] for t in filled.json("show", first)] == [2, 3, 4]
    assert "How is it there?" in filled.ok("show", second[:-2])


def test_look_stats_for_people_and_for_scripts(filled) -> None:
    filled.ok("remember", "Max is a spaniel.")
    text = filled.ok("show", "stats")
    assert str(filled.store) in text and "no embedding model is configured" in text
    found = filled.json("show", "stats")
    user = found["scopes"]["user"]
    assert (user["turns"], user["sessions"], user["notes"], user["vectors"]) == (5, 2, 1, 0)
    assert found["processes"] == [] and found["disk_bytes"] > 0


def test_look_control_characters_of_a_text_never_reach_the_terminal(sm) -> None:
    evil = "my \x1b]0;title\x07\x1b[31mred\x1b[0m \x9b2J\u202edog\x7f"
    with Store.open(sm.store) as store:  # the log keeps what a restored backup held
        store.append(turn(1, text=evil, scope="user", session="\x1b[2Ja")).wait()
    for command in (["show"], ["show", "--last", "3"], ["show", "1"], ["search", "dog"]):
        for more in ([], ["--json"]):
            result = sm(*command, *more)
            assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", result.output), command
    assert "dog" in sm.ok("show", "1")


# ------------------------------------------------------------------- ``show summaries`` and ``show episodes``

AT = datetime(2026, 5, 11, 9, tzinfo=UTC)


@pytest.fixture
def path(tmp_path):
    with Store.open(tmp_path / "store") as store:
        id = store.append(said.turn("I moved.", id=0, at=AT)).event.id
        made = []
        for name, kind, covers, model in (
            ("session/s", "summary/session", (), "m"),
            ("day/2026-05-11", "summary/day", ("summary/session/s",), ""),
        ):
            subject = Coverage(
                id=f"summary/{name}", kind=kind, scope="anna", start=AT,
                until=AT + timedelta(hours=1), sources=(id,), digest="d", covers=covers, turns=1,
            )  # fmt: skip
            told = SummaryText(text=f"Anna moved ({name}).", topics=("moving",), model=model)
            made.append(summary(subject, told, Made(job="j"), AT))
        store.apply("test", WriteBatch(memories=tuple(made))).wait()
    return tmp_path / "store"


def run(path, *args):
    return CliRunner().invoke(app, ["--path", str(path), *args, "--scope", "anna"])


def test_summaries_a_list_of_what_there_is(path):
    done = run(path, "show", "summaries")
    assert done.exit_code == 0, done.output
    assert "2026-05-11" in done.output and "without an LLM" in done.output
    found = json.loads(run(path, "show", "summaries", "--json").output)
    assert [one["id"] for one in found] == ["summary/day/2026-05-11", "summary/session/s"]


def test_summaries_one_with_what_it_was_made_from(path):
    done = run(path, "show", "summary/day/2026-05-11")
    assert "Anna moved" in done.output and "summary/session/s" in done.output
    assert "I moved." in run(path, "show", "summary/session/s").output
    assert run(path, "show", "summary/none").exit_code == 1


# ------------------------------------------------------------------- why and replay: what came to mind at a turn, then and now


@pytest.fixture
def asked(filled):
    """The store after a recall for turn 8, of which one hit was offered."""
    with engine_of(memory_config(filled.store)) as engine:
        turn = replace(Look(engine).turn(7), text="What does Max eat?")
        found = engine.search("what is the dog Max called, and what does he eat", "user", 3)
        engine.note_recall(turn, found, Packed("block", tuple(found.hits[:1]), 42))
    return filled


def test_why_what_was_left_out_is_told_with_its_reason(asked) -> None:
    text = asked.ok("why")
    assert "turn 7" in text and "Ben: We moved to Lisbon." in text
    assert "offered" in text and "no room in the block" in text
    assert "stage lexical (by words alone" in text and "candidates" in text
    found = asked.json("why")
    first, *left = found["weighed"]
    assert first["verdict"] == "offered" and {one["verdict"] for one in left} == {"room"}
    assert {one["memory"] for one in left} <= found["memories"].keys()
    assert found["asked"] == "We moved to Lisbon."


def test_why_every_reason_has_words() -> None:
    assert {str(reason) for reason in LeftOutReason} <= WORDS.keys()


def test_why_replay_shows_then_and_now_side_by_side(asked) -> None:
    text = asked.ok("replay", "--turn", "7")
    assert "then" in text and "now" in text and "Ben: We moved to Lisbon." in text
    assert text.count("stage lexical") == 2
    found = asked.json("replay", "--turn", "7")
    assert found["turn"]["id"] == 7 and found["then"][0]["verdict"] == "offered"
    assert not {"chunk/7", "chunk/8"} & {one["memory"] for one in found["now"]}


# ------------------------------------------------------------------- undo: what was ordered in a conversation, and taking it back


@pytest.fixture
def ordered(filled):
    """A store in which somebody ordered to forget turns 2 and 3, and was asked about 4."""
    with engine_of(memory_config(filled.store)) as engine:
        engine.undo_log.hide("forget_that", "user", ["chunk/2", "chunk/3"], [2, 3], 0, 300.0)
        engine.undo_log.hide("forget_about", "user", ["chunk/4"], [4], 0, None)
    return filled


def texts(sm) -> list[str]:
    return [hit["memory"]["text"] for hit in sm.json("search", "dog Max")["hits"]]


def test_undo_shows_and_asks_and_no_means_no(ordered) -> None:
    assert "My dog is called Max." not in texts(ordered)
    result = ordered("undo", stdin="n\n")
    assert result.exit_code == 1 and "forget that" in result.stderr
    assert "My dog is called Max." not in texts(ordered)
    assert "Undone: forget that." in ordered.ok("undo", stdin="y\n")
    assert "My dog is called Max." in texts(ordered)
    result = ordered("undo", "--yes")
    assert result.exit_code == 1 and "There is nothing to undo." in result.stderr


def test_undo_by_number_and_for_a_script(ordered) -> None:
    assert "Voice command 2 cannot be undone" in ordered.fails("undo", "2", "--yes")
    assert "Voice command 9 cannot be undone" in ordered.fails("undo", "9", "--yes")
    undone = ordered.json("undo", "1", "--yes")
    assert (undone["id"], undone["state"]) == (1, "undone")
    assert ordered.json("undo", "--yes") is None


def test_undo_lists_beside_an_agent(ordered) -> None:
    assert [row["id"] for row in ordered.json("undo", "--list")] == [2, 1]
    shown = ordered.ok("undo", "--list")
    assert "forget about" in shown and "asked" in shown and str(datetime.now(UTC).year) in shown
