"""``forget``: what it says about backups and damaged files, and what becomes of them."""

import json

from slowcat_memory.store import backups_of


def test_forget_the_question_and_the_answer_name_the_backups(filled) -> None:
    filled.ok("backup")
    filled.ok("backup")
    result = filled("forget", "3", stdin="y\n")
    assert "and 2 backups (20" in result.stderr
    assert "2 backups deleted" in result.stdout
    assert backups_of(filled.store) == []


def test_forget_backups_can_be_kept_without_it(filled) -> None:
    filled.ok("backup")
    result = filled("forget", "3", "--keep-backups", stdin="y\n")
    assert "rewrite 1 backup (20" in result.stderr and "1 backup rewritten" in result.stdout
    [kept] = backups_of(filled.store)
    told = filled("restore", str(kept.file), "--yes")
    assert told.exit_code == 0 and "forgotten since" not in told.stderr, "it has none of it"


def test_forget_the_files_of_a_damaged_store_are_named_and_stay(filled) -> None:
    aside = filled.store / "corrupt-20260101T000000Z"
    aside.mkdir()
    result = filled("forget", "3", stdin="y\n")
    assert result.stderr.count(aside.name) == 2 and aside.exists()
    told = json.loads(filled.ok("forget", "4", "--yes", "--json"))
    assert told["erased"] is False and told["remains"] == [str(aside)]


def test_forget_names_the_reason_why_bytes_are_left(filled, monkeypatch) -> None:
    (filled.store / "backups").symlink_to(filled.folder / "unplugged")
    result = filled("forget", "3", "--yes")
    assert "unplugged" in result.stderr and "another process" not in result.stderr


def test_forget_about_a_name_lists_what_would_go_and_asks(filled) -> None:
    filled.ok("remember", "Lisa moved to Rome")
    filled.ok("remember", "the lisbon trip was fine")
    asked = filled("forget", "lisa", stdin="n\n")
    assert "Lisa moved to Rome" in asked.stderr and "lisbon" not in asked.stderr
    assert asked.exit_code != 0
    told = json.loads(filled.ok("forget", "Lisa", "--yes", "--json"))
    assert len(told["memories"]) == 1
    assert "No match" in filled("forget", "Lisa", "--yes").stderr
