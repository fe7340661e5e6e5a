"""The chat command against a scripted server: lines in, what a person would see out."""

import builtins
import re

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
    monkeypatch.setattr(model_servers.find_servers, "__defaults__", (0.3, ()))
    result = run("hello")
    assert result.exit_code == 1
    for command in ("lms server start", "ollama serve", "llama-server -hf"):
        assert command in result.stdout
