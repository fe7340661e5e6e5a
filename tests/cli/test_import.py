"""import: the preview, chats without dates, who is who, exports that overlap, notes of Mem0."""

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from slowcat_memory.cli import files
from tests.transfer.exports import content_of


def put(sm: Any, name: str) -> str:
    (sm.folder / name).write_bytes(content_of(name))
    return str(sm.folder / name)


def test_import_dry_run_shows_who_when_and_how_much_and_stores_nothing(sm) -> None:
    path = put(sm, "whatsapp android.txt")
    shown = sm.ok("import", path, "--dry-run")
    assert "whatsapp android.txt: WhatsApp" in shown
    assert "2 turns in 2 sessions" in shown and "2024-05-12 to 2024-05-13" in shown
    assert "Anna (1), Ben (1)" in shown
    assert "2 notices of the app, 1 media and deleted messages" in shown
    assert not sm.store.exists()
    [file] = sm.json("import", path, "--dry-run")["files"]
    assert (file["format"], file["from"]) == ("WhatsApp", "2024-05-12T18:30:00+00:00")


def test_import_a_chat_without_dates_is_refused_unless_somebody_says_when(sm) -> None:
    path = put(sm, "messages.json")
    said = sm.fails("import", path)
    assert "messages.json does not say when it was written. `--date 2024-05-01` says it" in said
    assert not sm.store.exists()
    assert "2 turns in 1 session" in sm.ok("import", path, "--date", "2024-05-01", "--no-embed")
    [first, _] = sm.json("show", "--last", "2")
    assert first["at"].startswith("2024-05-01T00:00")


def test_import_on_a_terminal_asks_who_the_user_is(sm, monkeypatch: pytest.MonkeyPatch) -> None:
    prompt = Mock(side_effect=["Cleo", "anna"])
    monkeypatch.setattr(files.typer, "prompt", prompt)
    monkeypatch.setattr(files, "sys", Mock(**{"stdin.isatty.return_value": True}))
    result = sm("import", put(sm, "whatsapp ios.txt"), "--no-embed")
    asked = [call.args[0] for call in prompt.call_args_list]
    assert asked == ["Which of them are you: Anna, Ben? (Enter: none)"] * 2
    assert "Nobody is called 'Cleo' there." in result.stderr
    assert [turn["speaker"] for turn in sm.json("show", "--last", "2")] == ["User", "Ben"]


def test_import_the_user_speaks_under_the_configured_name(sm) -> None:
    sm.config.write_text(
        sm.config.read_text().replace("[memory]", '[memory]\nuser_name = "Anna L"')
    )
    path = put(sm, "whatsapp ios.txt")
    result = sm("import", path, "--no-embed", "--dry-run")
    assert "Which of them are you? `--me 'Anna'` says it." in result.stderr
    sm.ok("import", path, "--me", "anna", "--no-embed")
    assert [turn["speaker"] for turn in sm.json("show", "--last", "2")] == ["Anna L", "Ben"]
    assert "Nothing new" in sm.ok("import", path, "--no-embed")


def test_import_a_folder_takes_the_chats_and_leaves_the_rest(sm, tmp_path: Path) -> None:
    folder = tmp_path / "export"
    folder.mkdir()
    for name in ("claude.json", "whatsapp ios.txt"):
        (folder / name).write_bytes(content_of(name))
    (folder / "photo.jpg").write_bytes(b"\xff\xd8\xff\0\0")
    assert "left out: photo.jpg is not a text file" in sm.ok("import", str(folder), "--dry-run")
    done = sm.ok("import", str(folder), "--no-embed")
    assert "4 turns in 2 sessions" in done and "1 other file left out, as no chats" in done
    (folder / "latin.txt").write_bytes(content_of("latin.txt"))
    assert "by line 1 it is Latin-1" in sm.fails("import", str(folder), "--no-embed")
