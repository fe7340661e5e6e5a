"""Orders to the memory in a whole conversation: said, carried out, answered, remembered later."""

import asyncio
import contextlib
import time
from datetime import UTC, datetime, timedelta

import pytest
from pipecat.frames.frames import EagerEndOfTurnCancelFrame

from slowcat_memory import MemoryEngine
from slowcat_memory.errors import StoreError
from slowcat_memory.runtime.commands.executor import CommandExecutor
from slowcat_memory.store import Store
from slowcat_memory.testing.headless import HeadlessConversation
from slowcat_memory.testing.server import ScriptedServer
from tests.support.memories import remember, residue, turns
from tests.support.processors import EagerVoice, events_of, memory
from tests.support.rows import each_listed
from tests.support.stores import configured
from tests.support.voice_pipeline import VoicePipeline, run

QUOKKA = "quokkasaurus"


def converse(config, *lines: str, typed: bool = False, **how):
    """Say lines in one conversation; return the answers, the LLM's requests and the orders."""

    async def scenario():
        processor = memory(config, **how)
        heard = events_of(processor, "on_command")
        async with ScriptedServer() as server:
            talk = HeadlessConversation(llm_url=server.url, memory=processor, speaker="Anna")
            async with talk:
                say = talk.type if typed else talk.say
                answers = [(await say(line)).text for line in lines]
            orders = [(command.kind, outcome.done) for command, outcome in heard]
            return answers, server.requests, orders, talk.context.messages

    return run(scenario())


def commands(config):
    with Store.open(config.folder, readonly=True) as store, store.snapshot() as snapshot:
        return [(entry.kind, entry.state) for entry in reversed(snapshot.commands())]


def later(config, seconds: float = 3600.0) -> None:
    """Open the store as if it were later, and let it do what is due."""
    clock = lambda: datetime.now(UTC) + timedelta(seconds=seconds)  # noqa: E731
    with contextlib.closing(MemoryEngine(config, clock=clock)) as engine:
        engine.flush(indexed=True)


@pytest.mark.parametrize("typed", [False, True])
def test_commands_remember_is_answered_without_the_llm_and_asked_in_the_next_session(config, typed):
    answers, requests, told, messages = converse(
        config, "Remember that my sister is called Hannah.", typed=typed
    )
    assert answers == ["I'll remember: my sister is called Hannah."]
    assert requests == [] and told == [("remember", True)]
    assert [m["role"] for m in messages] == ["user", "assistant"]
    assert [turn.role for turn in turns(config) if turn.aside] == ["user", "assistant"]
    answers, requests, told, _ = converse(config, "what is my sister called")
    assert "my sister is called Hannah" in answers[0] and told == []
    block = requests[0]["messages"][-1]["content"]
    assert "Remember that" not in block and "I'll remember" not in block, "orders are no memories"


def test_commands_forget_that_undo_and_erasing(config):
    said = f"my {QUOKKA} is called Max"
    answers, requests, told, _ = converse(config, said, "um forget that please")
    assert answers[1].startswith("I've forgotten that") and len(requests) == 1
    answers, *_ = converse(config, f"what is my {QUOKKA} called")
    assert "Max" not in answers[0]
    assert converse(config, "undo that")[0] == ["Done, I have it back."]
    answers, *_ = converse(config, f"what is my {QUOKKA} called")
    assert f"“{said}”" in answers[0]
    assert commands(config) == [("forget_that", "undone")]
    converse(config, f"the {QUOKKA} sleeps", "forget that")
    later(config, 60)
    assert residue(config.folder, "sleeps"), "there is time for second thoughts"
    later(config)
    assert residue(config.folder, "sleeps") == [] and residue(config.folder, QUOKKA), (
        "nothing else is gone"
    )
    assert converse(config, "undo that")[0] == ["That is erased for good and cannot come back."]


def test_commands_can_be_switched_off(tmp_path):
    config = configured(tmp_path / "memory", commands={"enabled": False})
    _, requests, told, _ = converse(config, "forget that")
    assert len(requests) == 1 and told == []


def test_commands_what_fails_is_said_and_the_conversation_goes_on(config, monkeypatch):
    def fail(*_):
        raise StoreError("the disk is full")

    monkeypatch.setattr(CommandExecutor, "_remember", fail)
    answers, requests, told, _ = converse(config, "remember that I like tea", "hello there")
    assert answers[0] == "I'm sorry, my memory could not do that."
    assert len(requests) == 1 and told == [("remember", False)]


def test_commands_what_takes_long_is_said_and_done_all_the_same(tmp_path, monkeypatch):
    config = configured(tmp_path / "memory", commands={"wait_s": 0.01})
    work = CommandExecutor.execute

    def slowly(*given):
        time.sleep(0.1)  # longer than the order may take
        return work(*given)

    monkeypatch.setattr(CommandExecutor, "execute", slowly)
    answers, _, told, _ = converse(config, "remember that I like tea")
    assert answers == ["My memory is still busy with that; ask me again in a moment."]
    assert told == [("remember", True)] and commands(config) == [("remember", "done")]


async def test_commands_is_executed_though_interrupted(config, monkeypatch):
    begun, work = asyncio.Event(), CommandExecutor.execute
    loop = asyncio.get_running_loop()

    def carry_out(*given):
        loop.call_soon_threadsafe(begun.set)
        return work(*given)

    monkeypatch.setattr(CommandExecutor, "execute", carry_out)
    async with VoicePipeline(memory=memory(config)) as voice:
        await voice.speak("remember that my dog is called Max")
        await begun.wait()
        await voice.interrupt()
        await voice.exchange("hello")
    assert commands(config) == [("remember", "done")]


async def test_commands_of_an_eager_turn_is_executed_once_confirmed(config):
    eager = EagerVoice(memory(config))
    async with eager.voice:
        await eager.begin("remember that my dog is called Max", requests=0)
        await eager.end("Remember that my dog is called Max.")
        said = await eager.voice.answer()
    assert said.content == "I'll remember: my dog is called Max."
    assert eager.voice.server.requests == []
    assert commands(config) == [("remember", "done")]


async def test_commands_that_is_withdrawn_changes_nothing(config):
    eager = EagerVoice(memory(config))
    async with eager.voice:
        await eager.begin("forget that", requests=0)
        await eager.queue(EagerEndOfTurnCancelFrame())
        await eager.end("forget that cake in the fridge")
        await eager.voice.answer()
    assert len(eager.voice.server.requests) == 1
    assert commands(config) == []


def test_commands_llm_no_longer_reads_what_is_forgotten_and_undo_lets_it_recall(config):
    said = f"my {QUOKKA} is called Max"
    ask = f"what is my {QUOKKA} called"
    _, requests, _, messages = converse(config, said, "forget that", ask, "undo that", ask)
    first, second, third = requests
    assert said in str(first["messages"]) and "Max" not in str(second["messages"])
    assert len(second["messages"]) == len(first["messages"]) + 4, "every message keeps its place"
    assert said in third["messages"][-1]["content"], "undone, and recalled again"


def test_commands_blocks_that_hold_what_is_forgotten_are_taken_out_of_the_context(config):
    remember(config, f"Anna: My {QUOKKA} likes tea.", "Anna: My car is red.")
    _, requests, *_ = converse(
        config,
        f"what does my {QUOKKA} like",
        "which colour is my car",
        f"forget everything about {QUOKKA}",
        "yes forget them",
        "thank you so much",
    )
    *_, before, after = requests
    assert f"{QUOKKA} likes tea" in str(before["messages"])
    assert f"{QUOKKA} likes tea" not in str(after["messages"])
    assert "My car is red" in str(after["messages"]), "and nothing else"


UNSERVED = "please remember the thing with the green fence"
UNCHANGED = "nothing was stored, changed, deleted"


def test_commands_a_memory_verb_that_is_no_command_lets_the_llm_promise_nothing(config):
    _, requests, told, _ = converse(config, UNSERVED, "the fence is green and new")
    assert told == [] and len(requests) == 2
    first, second = (request["messages"][-1]["content"] for request in requests)
    assert UNCHANGED in first, "also when nothing is recalled"
    assert UNCHANGED not in second, "a statement asks for no change"


@each_listed("commands/dialogues", "")
def test_commands_in_dialogue(tmp_path_factory, language, said, told, kept, answers):
    folder = tmp_path_factory.mktemp("dialogue")
    config = configured(folder, memory={"path": str(folder / "m"), "language": language})
    lines = said.split(" / ")
    heard, requests, obeyed, _ = converse(config, *lines)
    assert [kind + "!" * (not done) for kind, done in obeyed] == told.replace("*", "").split()
    assert len(requests) == len(lines) - len(obeyed) + told.count("*")
    with Store.open(config.folder, readonly=True) as store, store.snapshot() as snapshot:
        gone = {turn for one in snapshot.commands() if one.state == "done" for turn in one.turns}
        turns = list(snapshot.turns())
    own = [one for one in turns if one.role == "user" and not one.aside and one.id not in gone]
    assert [one.text for one in own] == kept.split(" / ")
    off = set(lines) - {one.text for one in turns}
    assert not [line for line in off if residue(config.folder, line)], "what is not kept, anywhere"
    for answer, begins in zip(heard[::-1], answers.split(" / ")[::-1], strict=False):
        assert answer.startswith(begins)
