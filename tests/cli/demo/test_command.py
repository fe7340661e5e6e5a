"""The demo, played for real: pipeline, HTTP, store on disk, and the embedding model if there is one."""

import asyncio
import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console
from typer.testing import CliRunner

from slowcat_memory import providers
from slowcat_memory.cli.app import app
from slowcat_memory.cli.demo.play import Exchange, Recalled, Session
from slowcat_memory.cli.demo.script import STORY, Line
from slowcat_memory.cli.demo.view import View
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.errors import ModelNotFoundError
from slowcat_memory.providers import EmbedderReport
from slowcat_memory.testing.server import Failure
from tests.support.scripted_server import serving


def play(*arguments: str):
    result = CliRunner().invoke(app, ["demo", "--json", *arguments])
    assert result.stdout, result.output
    return result.exit_code, SimpleNamespace(**json.loads(result.stdout))


def turns(whole) -> list[dict]:
    return [turn for turn in whole.exchanges if not turn["line"]["command"]]


@pytest.fixture(scope="module")
def whole(request, tmp_path_factory):
    options = providers.EmbedderOptions()
    if providers.open_query_embedder(options)[1].state == "needs export":
        request.getfixturevalue("model_cache")
    code, whole = play("--path", str(tmp_path_factory.mktemp("demo") / "store"))
    if "words alone" in whole.embedding:
        pytest.skip(whole.embedding)
    assert code == 0
    return whole


def test_command_demo_recalls_and_quotes_every_essential_memory(whole):
    asked = [turn for turn in turns(whole) if turn["line"]["expects"]]
    assert len(asked) >= 6
    for turn in asked:
        if turn["line"]["essential"]:
            assert turn["found"], turn["line"]["text"]
            [expected] = [memory for memory in turn["recalled"] if memory["expected"]]
            assert expected["text"] in turn["reply"]
    result = whole.result
    assert result["ok"] and result["essential_found"] == result["essential"] == 7
    assert result["paraphrased_found"] >= 3


def test_command_demo_does_not_answer_what_was_never_said(whole):
    unknown = [turn for turn in turns(whole) if turn["line"]["unknown"]]
    assert len(unknown) == whole.result["unknown"] == whole.result["unknown_admitted"] == 3
    assert all("don't know" in turn["reply"] for turn in unknown)


def test_command_demo_store_continues_where_it_was_closed(whole):
    ids = [turn[half] for turn in whole.exchanges for half in ("user_turn", "assistant_turn")]
    assert ids == sorted(set(ids)) and ids[0] >= 1
    held = [opened["turns"] for opened in whole.sessions]
    lines = [len(evening.lines) for evening in STORY]
    assert held == [2 * sum(lines[:number]) for number in range(len(lines))]
    assert whole.result["turns_stored"] == 2 * sum(lines)
    assert Path(whole.store, "data.mdb").exists() or any(Path(whole.store).rglob("*.mdb"))


def test_command_demo_blocks_can_be_read_aloud(whole):
    blocks = [turn["block"] for turn in turns(whole) if turn["recalled"]]
    assert blocks and whole.result["block_tokens"] < 100
    for block in blocks:
        _, *lines, _ = block.splitlines()
        for line in lines:
            when = r"\d{1,2} [A-Z][a-z]+|(on|last) [A-Z][a-z]+day|(to|yester)day"
            assert re.fullmatch(rf"- \((until )?({when})\) (Nora|You): \S.*", line), line
            assert not re.search(r"chunk/|\d{8}T|[0-9a-f]{6}", line)


def test_command_demo_times_recall_on_every_turn(whole):
    assert all(turn["ms"] > 0 for turn in turns(whole))
    assert whole.result["recalls"] == len(turns(whole))


def test_command_demo_no_vectors_searches_by_words(tmp_path):
    code, whole = play("--no-vectors", "--path", str(tmp_path / "store"))
    assert code == 0 and whole.result["ok"] and not whole.result["vectors"]
    assert "words alone" in whole.embedding
    assert {turn["stage"] for turn in turns(whole)} == {"lexical", "skipped"}  # "good night!"
    assert whole.result["essential"] == whole.result["essential_found"] == 4
    missed = [turn["line"]["text"] for turn in turns(whole) if turn["found"] is False]
    assert len(missed) == 2 and all(
        "don't know" in turn["reply"] for turn in turns(whole) if turn["line"]["text"] in missed
    )  # why there are vectors
    assert whole.result["unknown_admitted"] == whole.result["unknown"] == 3


def test_command_demo_without_a_model_searches_by_words(tmp_path, monkeypatch):
    missing = EmbedderReport(state="missing", source="no such model here", hint="Get one")
    monkeypatch.setattr(providers, "open_query_embedder", lambda options: (None, missing))
    code, whole = play("--path", str(tmp_path / "store"))
    assert code == 0 and "no such model here. Get one" in whole.embedding


def test_command_demo_goes_on_when_the_model_export_fails(tmp_path, monkeypatch):
    def fail(options, on_progress):
        on_progress("loading [the] model")
        raise ModelNotFoundError("the hub does not answer")

    waiting = EmbedderReport(state="needs export", source="a model")
    monkeypatch.setattr(providers, "open_query_embedder", lambda options: (None, waiting))
    monkeypatch.setattr(providers, "export_model", fail)
    code, whole = play("--path", str(tmp_path / "store"))
    assert code == 0 and "the hub does not answer" in whole.embedding


def test_command_demo_deletes_its_temporary_store_unless_keep():
    _, gone = play("--no-vectors")
    assert not Path(gone.store.split(",")[0]).exists()
    _, kept = play("--no-vectors", "--keep")
    assert any(Path(kept.store).iterdir())
    for path in sorted(Path(kept.store).rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    Path(kept.store).rmdir()


def test_command_demo_path_refuses_a_folder_that_is_not_empty(tmp_path):
    (tmp_path / "mine").write_text("a real memory")
    result = CliRunner().invoke(app, ["demo", "--path", str(tmp_path)])
    assert result.exit_code == 2 and "not empty" in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize(
    ("url", "reason"),
    [("http://192.0.2.1/v1", "not this machine"), ("http://127.0.0.1:9/v1", "no model server")],
)
def test_command_demo_llm_url_that_cannot_be_used_is_one_clear_line(url, reason):
    result = CliRunner().invoke(app, ["demo", "--llm-url", url])
    assert result.exit_code == 1 and reason in " ".join(result.output.split())
    assert "Traceback" not in result.output


def test_command_demo_llm_url_talks_to_that_server(tmp_path):
    with serving(lambda request: "As you say.", model="mine") as server:
        code, whole = play(
            "--no-vectors", "--llm-url", server.url, "--path", str(tmp_path / "store")
        )
        url = server.url
        assert {request["model"] for request in server.requests} == {"mine"}
        assert "<memories>" in str(server.requests[-2])
    assert code == 0 and whole.llm == f"mine at {url}"
    assert whole.result["essential"] == 3  # what it advises is not in the script
    assert {turn["reply"] for turn in turns(whole)} == {"As you say."}


def test_command_demo_llm_failure_is_one_clear_line(tmp_path):
    with serving(lambda request: Failure(500, "no weights")) as server:
        result = CliRunner().invoke(app, ["demo", "--no-vectors", "--llm-url", server.url])
    assert result.exit_code == 1 and "no weights" in result.stderr
    assert "Traceback" not in result.output


def test_command_demo_fits_a_narrow_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    result = CliRunner().invoke(app, ["demo", "--no-vectors"])
    assert result.exit_code == 0
    shown = result.stdout.splitlines()
    assert max(map(len, shown)) <= 80 and len(shown) < 130
    assert "Wednesday 6 May, 25 days later" in result.stdout and "It remembers." in result.stdout
    assert not re.search(r"\d ms", result.stdout.partition("What came back")[0])
    assert "slowcat-memory chat" in result.stdout.partition("Next")[2]


def test_view_shows_a_missed_memory(capsys):
    memory = Recalled(
        at=STORY[0].at, speaker="Nora", text="x" * 99, score=0.4, likely=0.6, expected=False
    )
    turn = Exchange(
        line=Line("Which one?", expects="puppy"),
        reply="[bold]No.[/bold]",
        user_turn=1,
        assistant_turn=2,
        ms=12.34,
        stage="full",
        block="",
        tokens=0,
        recalled=[memory],
        found=False,
    )
    items: asyncio.Queue[Exchange | None] = asyncio.Queue()
    items.put_nowait(turn)
    items.put_nowait(None)
    asyncio.run(View(Console(width=80)).watch(items))
    shown = capsys.readouterr().out
    assert "did not come" in shown and "[bold]No." in shown and "x…" in shown


def test_command_demo_voice_commands_are_carried_out(whole):
    said = [(turn["line"]["text"], turn["reply"]) for turn in whole.exchanges]
    replies = {text: reply for text, reply in said if text in ("Yes.", "Undo that.")}
    assert "forgotten" in replies["Yes."] and "have it back" in replies["Undo that."]
    [after] = [turn for turn in turns(whole) if turn["line"]["unknown"] and "soup" in str(turn)]
    assert after["recalled"] == [] and "don't know" in after["reply"]


def test_command_demo_a_night_draws_facts_and_ends_what_is_over(whole):
    known = {fact["text"]: fact["until"] for fact in whole.night["facts"]}
    assert known["Nora works as a guide at the science museum."] is None
    assert "2026-03-19" in known["Nora works as a chemistry teacher at the school by the harbour."]
    then, now = whole.then
    assert "chemistry teacher" in then["facts"] and "guide" not in then["facts"]
    assert "guide" in now["facts"] and "chemistry" not in now["facts"]


def test_view_waits_only_when_it_is_paced(monkeypatch):
    waited = []

    async def wait(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr("slowcat_memory.cli.demo.view.asyncio.sleep", wait)
    for paced in (False, True):
        items: asyncio.Queue[Session | None] = asyncio.Queue()
        items.put_nowait(Session(number=1, at=STORY[0].at, days=0, turns=0, open_ms=1.0))
        items.put_nowait(None)
        asyncio.run(View(Console(width=80), paced=paced).watch(items))
        assert bool(waited) is paced


def test_story_vector_questions_share_no_word_with_the_answer():
    said = {line.key: line for evening in STORY for line in evening.lines if line.key}
    words = Tokenizer()
    for line in (line for evening in STORY for line in evening.lines if line.expects):
        asked = said[line.expects]
        answer = asked.reply if line.half == "assistant" else asked.text
        assert bool(set(words(line.text)) & set(words(answer))) == (line.needs == "words")
