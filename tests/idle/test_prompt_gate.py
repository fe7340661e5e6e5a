"""What is checked when a prompt is sent: none with a local-only memory goes to another machine."""

import asyncio
from pathlib import Path

import pytest
from msgspec import Struct

from slowcat_memory.errors import PromptRefusedError
from slowcat_memory.idle.job import names_of
from slowcat_memory.providers import Prompt
from slowcat_memory.records import WriteBatch
from slowcat_memory.store import Store
from slowcat_memory.testing import ScriptedLLM
from tests.harness.samples import memory, turn
from tests.support.idle_doubles import job_llm
from tests.support.parroting_llm import Remote


class Said(Struct):
    """An answer."""

    text: str = ""


@pytest.fixture
def store(tmp_path: Path):
    with Store.open(tmp_path / "store") as opened:
        for n in (1, 2):
            opened.append(turn(n, id=0)).wait(30)
        notes = (memory("note/1"), memory("block/1", sources=(2,)))
        opened.apply("test", WriteBatch(memories=notes)).wait(30)
        yield opened


def send(store: Store, llm: ScriptedLLM, made_from: tuple[tuple[str, str], ...] | None) -> bool:
    prompt = Prompt(job="test", version=1, system="", user="…", made_from=made_from)
    try:
        asyncio.run(job_llm(llm, store).complete(prompt, Said))
    except PromptRefusedError:
        assert not llm.prompts
        return False
    assert len(llm.prompts) == 1
    return True


def remote() -> ScriptedLLM:
    return Remote(lambda prompt: {"text": ""})


def here() -> ScriptedLLM:
    return ScriptedLLM(lambda prompt: {"text": ""})


def test_prompt_gate_refuses_what_was_marked_after_the_prompt_was_written(store: Store) -> None:
    holds = names_of("anna", (1,), ("note/1", ""))
    assert holds == (("anna", "chunk/1"), ("anna", "note/1"))
    assert send(store, remote(), holds)
    store.apply("person", WriteBatch(marks=(("anna", "note/1", True),))).wait(30)
    assert not send(store, remote(), holds)
    assert send(store, here(), holds)
    assert send(store, remote(), names_of("anna", (1,)))


def test_prompt_gate_refuses_what_was_made_from_a_local_only_turn(store: Store) -> None:
    store.apply("person", WriteBatch(marks=(("anna", "chunk/2", True),))).wait(30)
    assert not send(store, remote(), names_of("anna", (), ("block/1",)))
    assert not send(store, remote(), names_of("anna", (2,)))


def test_prompt_gate_refuses_a_prompt_that_names_no_memories(store: Store) -> None:
    assert not send(store, remote(), None)
    assert send(store, here(), None)
    assert send(store, remote(), ())


class Foreign:
    """An LLM of another package, that does not say where it is."""

    prompt_tokens = 1000


def test_prompt_gate_an_llm_that_does_not_say_where_it_is_is_remote(store: Store) -> None:
    assert job_llm(Foreign(), store).remote
