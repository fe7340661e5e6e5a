"""The chat command and the demo, in front of a scripted server: what a person would see."""

import asyncio
import builtins
import re

import pytest
from rich.console import Console
from typer.testing import CliRunner

from slowcat_memory import providers
from slowcat_memory.cli.app import app
from slowcat_memory.cli.talk import NO_ANSWER, STORY, DemoExchange, Player, ready
from slowcat_memory.providers.llm import model_servers
from slowcat_memory.runtime.injection import message_text
from slowcat_memory.testing.server import Failure
from tests.support.scripted_server import serving

# ------------------------------------------------------------------- the chat command against a scripted server: lines in, what a person would see ou


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run the command with lines typed into it; its store is the test's own."""
    monkeypatch.setenv("SLOWCAT_EMBEDDING__KIND", "none")
    monkeypatch.setenv("SLOWCAT_RECALL__DEADLINE_MS", "5000")
    monkeypatch.setenv("COLUMNS", "100")

    def run(*lines: str, url: str = "", options: tuple[str, ...] = ()):
        named = ["--llm-url", url] if url else []
        arguments = ["--path", str(tmp_path / "store"), "chat", *named, *options]
        return CliRunner().invoke(app, arguments, input="".join(f"{line}\n" for line in lines))

    return run


def test_chat_it_remembers_across_runs_and_says_why(run):
    with serving() as server:
        first = run("My dog is called Max.", "/quit", url=server.url)
        second = run("What is my dog called?", "/why", url=server.url)
    assert first.exit_code == second.exit_code == 0
    assert "I am listening." in first.stdout and "Saved." in first.stdout
    assert "User said, “My dog is called Max.”" in second.stdout
    assert re.search(r"\d memor(y|ies) recalled in \d+\.\d ms, /why", second.stdout)
    assert "2 turns from 1 session" in second.stdout
    why = second.stdout.split("/why", 1)[1]
    for shown in ("%", "score", "its words", "My dog is called Max.", "by words", "wait"):
        assert shown in why


def test_chat_a_user_has_a_memory_and_a_name_of_their_own(run):
    with serving() as server:
        run("My dog is called Max.", url=server.url, options=("--user", "Anna"))
        other = run("What is my dog called?", url=server.url, options=("--user", "ben"))
        same = run("What is my dog called?", url=server.url, options=("--user", "anna"))
    assert "don't know" in other.stdout and "Ben>" in other.stdout
    assert "Anna said, “My dog is called Max.”" in same.stdout


def test_chat_a_failing_model_is_one_line_and_the_chat_goes_on(run):
    def reply(request):
        words = message_text(request["messages"][-1])
        return Failure(500, "out of\nmemory") if "fail" in words else "Fine."

    with serving(reply) as server:
        result = run("please fail", "please fail", "and now?", url=server.url)
        messages = server.requests[-1]["messages"]
        assert [one["role"] for one in messages] == ["system", *["user", "assistant"] * 2, "user"]
        assert message_text(messages[2]) == NO_ANSWER
    assert result.exit_code == 0 and "Fine." in result.stdout
    errors = [line for line in result.stdout.splitlines() if "No answer" in line]
    assert len(errors) == 2 and all("out of memory" in line for line in errors)
    assert "Traceback" not in result.output


@pytest.mark.parametrize("leave", [EOFError, KeyboardInterrupt])
def test_chat_ctrl_d_and_ctrl_c_leave_cleanly(run, monkeypatch, leave):
    lines = iter(["hello"])

    def read(prompt):
        try:
            return next(lines)
        except StopIteration:
            raise leave from None

    monkeypatch.setattr(builtins, "input", read)
    with serving() as server:
        result = run(url=server.url)
    assert result.exit_code == 0 and "Saved." in result.stdout


def test_chat_without_a_server_it_says_what_to_start(run, monkeypatch):
    monkeypatch.setattr(model_servers.choose_server, "__defaults__", ("", False, ()))
    result = run("hello")
    assert result.exit_code == 1
    for command in ("lms server start", "ollama serve", "llama-server -hf"):
        assert command in result.stdout


# ------------------------------------------------------------------- the demo, played for real: pipeline, HTTP, store on disk, and the embedding mode


def play(folder, no_vectors: bool = False) -> Player:
    config, _ = ready(folder, no_vectors)
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
    night, _, then = " ".join(result.stdout.split()).partition("What was true when?")
    assert "teacher at the school by the harbour. (2 March to 19 March)" in night
    then, _, now = then.partition("6 May")
    assert "chemistry teacher" in then and "guide" not in then
    assert "guide" in now and "chemistry" not in now.partition("What came back")[0]


def test_demo_voice_commands_are_carried_out(whole):
    replies = {one.line.text: one.reply for one in whole.exchanges}
    assert "forgotten" in replies["Yes."] and "have it back" in replies["Undo that."]
    [after] = [one for one in turns(whole) if one.line.unknown and "soup" in one.line.text]
    assert not after.packed.hits and "don't know" in after.reply
