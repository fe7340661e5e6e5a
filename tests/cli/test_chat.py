"""The chat command against a scripted server: lines in, what a person would see out."""

import asyncio
import builtins
import re
import threading

import pytest
from typer.testing import CliRunner

from slowcat_memory.cli.app import app
from slowcat_memory.cli.talk import NO_ANSWER
from slowcat_memory.providers.llm import model_servers
from slowcat_memory.testing.parrot import message_text
from slowcat_memory.testing.server import Failure, ScriptedServer
from tests.support.scripted_server import serving


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


def said(server: ScriptedServer, request: int = -1) -> str:
    return message_text(server.requests[request]["messages"][-1])


def roles(server: ScriptedServer, request: int = -1) -> list[str]:
    return [message["role"] for message in server.requests[request]["messages"]]


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
        assert roles(server) == ["system", "user", "assistant", "user", "assistant", "user"]
        assert message_text(server.requests[-1]["messages"][2]) == NO_ANSWER
    assert result.exit_code == 0 and "Fine." in result.stdout
    errors = [line for line in result.stdout.splitlines() if "No answer" in line]
    assert len(errors) == 2 and all("out of memory" in line for line in errors)
    assert "Traceback" not in result.output


def test_chat_tokens_appear_as_they_come_without_control_characters(run):
    with serving(lambda request: "one \x1b[31mtwo\x07 [bold]three[/bold]") as server:
        result = run("count", url=server.url)
    assert "one [31mtwo [bold]three[/bold]" in result.stdout and "\x1b" not in result.stdout


def test_chat_the_other_commands(run):
    with serving() as server:
        result = run("/why", "/help", "/nonsense", "", "  ", "hello", "/why",
                     url=server.url)  # fmt: skip
        assert sum(request["stream"] for request in server.requests) == 1
    for shown in (
        "No recall yet.",
        "There is no /nonsense. See /help.",
        "Nothing was recalled",
    ):
        assert shown in result.stdout


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


def test_chat_ctrl_c_stops_an_answer_and_not_the_chat(run, monkeypatch):
    from slowcat_memory.cli import talk as chat_pipeline

    started, ask = threading.Event(), chat_pipeline.ChatThread.ask

    def impatient(self, text, on_token):
        """Press Ctrl-C as the first words of the story appear."""
        if "story" not in text:
            return ask(self, text, on_token)
        real = asyncio.run_coroutine_threadsafe

        def submit(work, loop):
            future = real(work, loop)
            if not started.is_set():
                wait = future.result

                def result(timeout=None):
                    future.result = wait
                    assert started.wait(30)
                    raise KeyboardInterrupt

                future.result = result
            return future

        with monkeypatch.context() as patch:
            patch.setattr(asyncio, "run_coroutine_threadsafe", submit)
            return ask(self, text, lambda token: (on_token(token), started.set()))

    monkeypatch.setattr(chat_pipeline.ChatThread, "ask", impatient)
    reply = lambda r: "once upon a time " * 200 if "story" in said_in(r) else "Yes."  # noqa: E731
    with serving(reply, token_delay_s=0.01) as server:
        result = run("a story", "still there?", url=server.url)
        assert roles(server) == ["system", "user", "assistant", "user"]
    assert "(stopped)" in result.stdout and "Yes." in result.stdout


def said_in(request: dict) -> str:
    return message_text(request["messages"][-1])


def test_chat_it_finds_the_server_by_itself(run, monkeypatch):
    with serving(model="tiny") as server:
        port = int(server.url.split(":")[2].removesuffix("/v1"))
        known = (model_servers.ServerKind("Ollama", port, ("ollama serve",)),)
        monkeypatch.setattr(model_servers.find_servers, "__defaults__", (0.3, known))
        result = run("hello")
        assert server.requests[0]["model"] == "tiny"
    assert "tiny, Ollama at http://127.0.0.1" in result.stdout


def test_chat_without_a_server_it_says_what_to_start(run, monkeypatch):
    monkeypatch.setattr(model_servers.find_servers, "__defaults__", (0.3, ()))
    result = run("hello")
    assert result.exit_code == 1
    for command in ("lms server start", "ollama serve", "llama-server -hf"):
        assert command in result.stdout


def test_chat_another_machine_is_refused(run):
    result = run("hello", url="http://192.0.2.1/v1")
    assert result.exit_code == 1 and "not this machine" in " ".join(result.output.split())
    assert "Traceback" not in result.output
