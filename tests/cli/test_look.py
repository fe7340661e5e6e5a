"""search, show, why: what is in a memory, without changing it."""

import re

from tests.harness.samples import turn


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
    from slowcat_memory.store import Store

    evil = "my \x1b]0;title\x07\x1b[31mred\x1b[0m \x9b2J\u202edog\x7f"
    with Store.open(sm.store) as store:  # the log keeps what a restored backup held
        store.append(turn(1, text=evil, scope="user", session="\x1b[2Ja")).wait()
    for command in (["show"], ["show", "--last", "3"], ["show", "1"], ["search", "dog"]):
        for more in ([], ["--json"]):
            result = sm(*command, *more)
            assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", result.output), command
    assert "dog" in sm.ok("show", "1")
