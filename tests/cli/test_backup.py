"""``backup``, ``restore`` and ``forget``: what a person sees and what they find afterwards."""

import json

import pytest

from slowcat_memory.store import backups_of


def shown(sm) -> str:
    return sm.ok("show", "--last", "20")


def test_backup_a_backup_is_restored_without_what_was_forgotten_since(filled) -> None:
    before = shown(filled)
    file = filled.folder / "kept.mdb"
    assert "checked:" in filled.ok("backup", str(file))
    filled.ok("forget", "3", "--yes")
    said = filled("restore", str(file), "--yes")
    assert said.exit_code == 0 and "Restored: " in said.stdout
    assert "forgotten since" in said.stderr and str(file) in said.stderr
    after = shown(filled)
    assert after != before and len(after.splitlines()) < len(before.splitlines())
    assert filled.ok("restore", str(file), "--yes")
    assert shown(filled) == after


def test_backup_it_asks_before_it_replaces_a_memory(filled) -> None:
    file = filled.folder / "kept.mdb"
    filled.ok("backup", str(file))
    before = shown(filled)
    assert filled("restore", str(file), stdin="n\n").exit_code == 1
    assert not list(filled.store.glob("replaced-*"))
    assert shown(filled) == before


@pytest.mark.parametrize("args", [("backup", "no/such/folder/f.mdb"), ("restore", "nothing.mdb")])
def test_backup_what_cannot_be_done_is_said_in_a_line(filled, args) -> None:
    yes = ["--yes"] if args[0] == "restore" else []
    told = filled.fails(*args, *yes)
    assert told.startswith("Error: there is no")


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
