import asyncio
import stat
from pathlib import Path

import msgspec
import pytest
from msgspec import Struct

from slowcat_memory.errors import (
    BadAnswerError,
    EndpointError,
    PromptTooLongError,
    TranscriptError,
)
from slowcat_memory.providers import Prompt
from slowcat_memory.providers.llm.recording import RecordingLLM, ReplayingLLM, key_of
from slowcat_memory.testing import ScriptedLLM


class Note(Struct, forbid_unknown_fields=True):
    note: str


def prompt(user: str) -> Prompt:
    return Prompt(job="notes", version=1, system="s", user=user)


def record(path: Path) -> None:
    """Record an answer, a bad one, a prompt that is too long, and an absence."""
    replies = {
        "good": {"note": "é \u2028 x"},
        "bad": "no",
        "long": PromptTooLongError("long"),
        "away": EndpointError("away"),
    }

    async def run() -> None:
        llm = RecordingLLM(ScriptedLLM(lambda p: replies[p.user], prompt_tokens=777), path)
        for user in replies:
            try:
                await llm.complete(prompt(user), Note)
            except (BadAnswerError, PromptTooLongError, EndpointError):
                pass
        llm.close()

    asyncio.run(run())


def test_recording_llm_a_replay_answers_as_was_answered(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    record(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600

    async def run() -> None:
        llm = ReplayingLLM(path)
        assert llm.prompt_tokens == 777 and await llm.ready()
        answer = await llm.complete(prompt("good"), Note)
        assert answer.value == Note("é \u2028 x") and answer.model == "scripted@test"
        assert answer.tokens_in > 0 and answer.tokens_out > 0
        with pytest.raises(BadAnswerError):
            await llm.complete(prompt("bad"), Note)
        with pytest.raises(PromptTooLongError):
            await llm.complete(prompt("long"), Note)
        with pytest.raises(EndpointError, match="was not recorded"):
            await llm.complete(prompt("away"), Note)
        assert (llm.asked, llm.missing) == (4, 1)

    asyncio.run(run())


def test_recording_llm_an_answer_is_checked_when_it_is_replayed(tmp_path: Path) -> None:
    class Other(Struct, forbid_unknown_fields=True):
        title: str

    record(tmp_path / "answers.jsonl")
    with pytest.raises(BadAnswerError):
        llm = ReplayingLLM(tmp_path / "answers.jsonl")
        asyncio.run(llm.complete(prompt("good"), Other))


@pytest.mark.parametrize(
    "change", [{"job": "x"}, {"version": 2}, {"system": "x"}, {"user": "x"}, {"max_tokens": 9}]
)
def test_recording_llm_another_prompt_has_another_key(change: dict[str, object]) -> None:
    other = msgspec.structs.replace(prompt("good"), **change)
    assert key_of(other) != key_of(prompt("good")) == key_of(prompt("good"))


@pytest.mark.parametrize("text", ["[]\n", "{}\n", '{"prompt_tokens": 1}\n{"key": 1}\n', "no"])
def test_recording_llm_another_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(text)
    with pytest.raises(TranscriptError, match="line"):
        ReplayingLLM(path)
