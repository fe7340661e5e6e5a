"""``backup`` and ``restore``: what a person sees and what they find afterwards."""

import json

import pytest


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


def test_backup_a_script_reads_json(filled) -> None:
    made = json.loads(filled.ok("backup", "--json"))
    assert made["bytes"] > 0 and made["file"].startswith(str(filled.store / "backups"))
    done = json.loads(filled.ok("restore", made["file"], "--yes", "--json"))
    assert done["forgotten"] == 0 and done["events"] > 5 and "replaced-" in done["aside"]


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
