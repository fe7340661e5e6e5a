"""The demo, played for real: pipeline, HTTP, store on disk, and the embedding model if there is one."""

import asyncio
import re

import pytest
from rich.console import Console
from typer.testing import CliRunner

from slowcat_memory import providers
from slowcat_memory.cli.app import app
from slowcat_memory.cli.talk import STORY, DemoExchange, Player, demo_config, ready


def play(folder, no_vectors: bool = False) -> Player:
    config, _ = ready(demo_config(folder, no_vectors))
    player = Player(config, Console(quiet=True))
    asyncio.run(player.play(STORY))
    return player


def turns(player: Player) -> list[DemoExchange]:
    return [one for one in player.exchanges if not one.line.command]


@pytest.fixture(scope="module")
def whole(request, tmp_path_factory) -> Player:
    if providers.open_query_embedder(providers.EmbedderOptions())[1].state == "needs export":
        request.getfixturevalue("model_cache")
    player = play(tmp_path_factory.mktemp("demo") / "store")
    if not player.vectors:
        pytest.skip("no embedding model here")
    return player


def test_demo_recalls_and_quotes_every_memory(whole):
    asked = [one for one in turns(whole) if one.line.expects]
    assert len(asked) >= 6 and whole.missed() == []
    for one in asked:
        [text] = [h.memory.text for h in one.packed.hits if one.line.expects in h.memory.text]
        assert text in one.reply
    assert sum(one.found for one in asked if one.line.needs == "vectors") >= 3


def test_demo_does_not_answer_what_was_never_said(whole):
    unknown = [one for one in turns(whole) if one.line.unknown]
    assert len(unknown) == 3 and all("don't know" in one.reply for one in unknown)


def test_demo_fits_a_narrow_terminal_and_deletes_its_store(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    result = CliRunner().invoke(app, ["demo", "--no-vectors"])
    assert result.exit_code == 0 and not list(tmp_path.glob("slowcat-demo-*"))
    shown = result.stdout.splitlines()
    assert max(map(len, shown)) <= 80 and len(shown) < 130
    assert "Wednesday 6 May, 25 days later" in result.stdout and "It remembers." in result.stdout
    assert not re.search(r"\d ms", result.stdout.partition("What came back")[0])
    assert "slowcat-memory chat" in result.stdout.partition("Next")[2]


def test_demo_voice_commands_are_carried_out(whole):
    replies = {one.line.text: one.reply for one in whole.exchanges}
    assert "forgotten" in replies["Yes."] and "have it back" in replies["Undo that."]
    [after] = [one for one in turns(whole) if one.line.unknown and "soup" in one.line.text]
    assert not after.packed.hits and "don't know" in after.reply


def test_demo_a_night_draws_facts_and_ends_what_is_over(whole):
    known = {fact.text: fact.valid_to for fact in whole.facts}
    assert known["Nora works as a guide at the science museum."] is None
    over = known["Nora works as a chemistry teacher at the school by the harbour."]
    assert f"{over:%Y-%m-%d}" == "2026-03-19"
    then, now = whole.work.values()
    assert "chemistry teacher" in then and "guide" not in then
    assert "guide" in now and "chemistry" not in now
