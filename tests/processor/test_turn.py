"""Turns in whole pipelines: which contexts bring one, what interrupts it, and how sessions end."""

import asyncio
import contextlib

import pytest
from pipecat.frames import frames
from pipecat.processors.aggregators import llm_response_universal as universal
from pipecat.utils.time import time_now_iso8601

from slowcat_memory import MemoryEngine
from slowcat_memory.core.render.memory_block import CLOSE, OPEN
from tests.support.memories import edges, remember, residue, said, turns
from tests.support.processors import (
    DEVELOPER,
    MAX,
    QUESTION,
    STORY,
    EagerVoice,
    Mark,
    assistant,
    blocks,
    contents,
    last_said,
    ledger_of,
    logged_words,
    memory,
    saw,
    session_turns,
    sessions,
    user,
    with_words,
)
from tests.support.stores import configured
from tests.support.voice_pipeline import VoicePipeline, aggregators, run

# ------------------------------------------------------------------- which contexts bring a new user turn: spoken, typed, of several, with tools; and


async def test_turn_plain_turn(config):
    remember(config, MAX)

    async with VoicePipeline(memory=memory(config)) as voice:
        answer = await voice.exchange(QUESTION)
    assert "My dog is called Max." in answer.content
    system, question = contents(voice.server.requests[0])
    assert system.startswith("You are a cat.") and system.count(OPEN) == 1  # the one instruction
    assert question.startswith(OPEN) and question.endswith(f"{CLOSE}\n\n{QUESTION}")
    asked, answered = turns(config)[-2:]
    assert (asked.speaker, asked.text, asked.channel) == ("User", QUESTION, "voice")
    assert (answered.speaker, answered.text) == ("Assistant", answer.content)
    assert answered.reply_to == asked.id and not answered.interrupted
    assert edges(config)[2:] == ["start", "end disconnect"]


async def test_turn_history_that_comes_later_is_history_all_the_same(engine, config):
    history = [user("what is my dog called"), assistant("I don't know.")]

    async with VoicePipeline(memory=memory(config, engine=engine)) as voice:
        update = frames.LLMMessagesUpdateFrame(messages=[*history, dict(DEVELOPER)], run_llm=True)
        await voice.worker.queue_frame(update)
        await voice.answer()
        assert contents(voice.server.requests[0])[1:] == [
            "what is my dog called",
            "I don't know.",
            "Say hello.",
        ]
        assert [name for name, _ in logged_words(engine)] == ["Assistant"]


BLOCK = "<memories>\n- (today) Anna: I like figs.\n</memories>"


async def test_typed_turns_words_behind_a_copied_block_are_kept_and_the_block_is_not(
    engine, config
):
    async with VoicePipeline(memory=memory(config, engine=engine)) as voice:
        for words in (f"{BLOCK}\n\nI like plums.", BLOCK):
            typed = frames.LLMMessagesAppendFrame(messages=[user(words)], run_llm=True)
            await voice.worker.queue_frame(typed)
            await voice.answer(len(voice.turns))
    assert [t.text for t in session_turns(engine) if t.role == "user"] == ["I like plums."]


async def test_speakers_several_people_in_one_turn_become_a_turn_each(engine, config):
    processor = memory(config, engine=engine, speaker_names={"s1": "Anna"})
    async with VoicePipeline(memory=processor, speech_timeout_s=0.1) as voice:
        await voice.worker.queue_frame(frames.VADUserStartedSpeakingFrame(start_secs=0.2))
        for speaker, words in (("s1", "I like tea."), ("s1", "Green tea."), ("ben", "Me too!")):
            frame = frames.TranscriptionFrame(words, speaker, time_now_iso8601())
            await voice.worker.queue_frame(frame)
        await voice.worker.queue_frame(frames.VADUserStoppedSpeakingFrame(stop_secs=0.2))
        await voice.answer()
        await voice.exchange("who likes green tea", user_id="s1")
    anna, ben, answer, *_ = session_turns(engine)
    assert (anna.speaker, anna.text) == ("Anna", "I like tea. Green tea.")
    assert (ben.speaker, ben.text) == ("ben", "Me too!")
    assert answer.reply_to == ben.id
    # All of it is still visible, in the words of both: nothing of it is offered again.
    assert "I like tea" not in contents(voice.server.requests[1])[-1]


# ------------------------------------------------------------------- interruptions of the agent and of recall, and turns that may yet be withdrawn


async def test_interruption_keeps_what_was_heard(engine, config):
    async with VoicePipeline(
        lambda request: STORY if "story" in last_said(request) else "Yes?",
        memory=memory(config, engine=engine),
    ) as voice:
        await voice.speak("a story: what is my dog called?")
        await voice.until_spoken(2)
        before = len(voice.turns)
        await voice.speak("stop")
        await voice.until(lambda: any(t.content == "Yes?" for t in voice.turns[before:]))
    logged = session_turns(engine)  # on a busy machine "stop" is logged before what it cut
    asked, stop = (turn for turn in logged if turn.role == "user")
    cut, yes = (turn for turn in logged if turn.role == "assistant")
    assert cut.interrupted and not yes.interrupted
    assert cut.text and STORY.startswith(cut.text) and cut.text != STORY
    assert cut.text == voice.turns[0].content
    assert (cut.reply_to, yes.reply_to) == (asked.id, stop.id)
    first, second = voice.server.requests
    assert second["messages"][: len(first["messages"])] == first["messages"]  # the block stays
    assert blocks(contents(first)[1]) == 1 and blocks(contents(second)[-1]) == 0


async def test_interruption_before_a_word_logs_nothing(engine, config):
    async with VoicePipeline(
        lambda request: STORY if "story" in last_said(request) else "Yes?",
        token_delay_s=0.05,
        memory=memory(config, engine=engine),
    ) as voice:
        await voice.speak("tell me a story")
        await voice.server.wait_for_requests(1)
        await voice.speak("stop")
        await voice.until(lambda: any(t.content == "Yes?" for t in voice.turns))
    assert [text for _, text in logged_words(engine)] == ["tell me a story", "stop", "Yes?"]
    assert not session_turns(engine)[-1].interrupted


async def test_interruption_by_a_cough_is_no_turn(engine, config):
    if not hasattr(universal, "EmptyUserTurnConfig"):
        pytest.skip("recovery from empty user turns is newer than this Pipecat")

    def reply(request):
        if request["messages"][-1]["role"] == "developer":
            return "Did you say something?"
        return STORY

    voice = VoicePipeline(reply, memory=memory(config, engine=engine))
    voice.aggregators = aggregators(voice.context, user_turn_stop_timeout=0.1)
    async with voice:
        await voice.speak("tell me of my dog")
        await voice.until_spoken(1)
        await voice.worker.queue_frame(frames.VADUserStartedSpeakingFrame(start_secs=0.2))
        await voice.worker.queue_frame(frames.VADUserStoppedSpeakingFrame(stop_secs=0.2))
        await voice.until(lambda: any(t.content.startswith("Did") for t in voice.turns))
    asked, cut, recovered = session_turns(engine)
    assert cut.interrupted and cut.text.startswith("There was a cat.")
    assert recovered.text == "Did you say something?" and not recovered.interrupted
    assert asked.text == "tell me of my dog" and len(ledger_of(engine)) == 1
    assert sum(map(blocks, contents(voice.server.requests[-1])[1:])) == 1


async def test_speculated_turn_eager_turn_that_is_withdrawn_leaves_no_trace(engine, config):
    eager = EagerVoice(memory(config, engine=engine))
    async with eager.voice:
        await eager.begin("what is my dog called")
        await eager.queue(frames.EagerEndOfTurnCancelFrame())
        await eager.end("never mind")
        await eager.voice.server.wait_for_requests(2)
        await eager.voice.answer()
    assert contents(eager.voice.server.requests[1])[1:] == ["never mind"]
    assert [text for name, text in logged_words(engine) if name == "anna"] == ["never mind"]
    (entry,) = ledger_of(engine)
    assert entry.offers == ()


# ------------------------------------------------------------------- sessions: how conversations end, and go on


async def test_session_cancelling_keeps_the_last_words(config):
    async with VoicePipeline(lambda _: STORY, memory=memory(config)) as voice:
        await voice.speak("tell me a story")
        await voice.until_spoken(2)
        await voice.cancel()
        spoken = voice.spoken
    asked, told = turns(config)
    assert asked.text == "tell me a story" and told.reply_to == asked.id
    assert told.interrupted and told.text.startswith("There was a cat. It lived in a house.")
    assert told.text == " ".join(spoken) != STORY
    assert edges(config) == ["start", "end disconnect"]


async def test_session_cancelling_in_the_middle_of_a_turn_keeps_the_users_words(config):
    async with VoicePipeline(memory=memory(config), speech_timeout_s=5) as voice:
        await voice.worker.queue_frame(frames.VADUserStartedSpeakingFrame(start_secs=0.2))
        final = frames.TranscriptionFrame("my last words", "anna", time_now_iso8601())
        await voice.worker.queue_frame(final)
        await voice.worker.queue_frame(frames.VADUserStoppedSpeakingFrame(stop_secs=0.2))
        await voice.until(lambda: saw(voice, frames.VADUserStoppedSpeakingFrame))
        await voice.cancel()
    assert said(config) == [("anna", "my last words")]


async def test_session_client_that_leaves_and_comes_back(config):
    processor = memory(config)
    async with VoicePipeline(memory=processor) as voice:
        await voice.exchange("hello")
        processor.disconnected()
        processor.disconnected()
        await voice.exchange("here I am again")
        processor.disconnected()
    assert edges(config) == ["start", "end disconnect", "resume", "end disconnect"]
    assert len({turn.session for turn in turns(config)}) == 1


async def test_session_silence_ends_the_session(tmp_path):
    config = configured(tmp_path / "memory", sessions={"silence_s": 1.0})
    with contextlib.closing(MemoryEngine(config)) as engine:
        async with VoicePipeline(memory=memory(config, engine=engine)) as voice:
            await voice.exchange("hello")
            async with asyncio.timeout(30):
                while "silence" not in [s.reason for s in sessions(engine)]:
                    await asyncio.sleep(0.02)
            await voice.exchange("hello again")
    assert edges(config)[:3] == ["start", "end silence", "start"]
    assert len({turn.session for turn in turns(config)}) == 2


# ---------------------------------------------------------------- recalled ahead of the speaker, and taken by the turn


def turn_in_parts(config, engine, *interims: str) -> VoicePipeline:
    """A recogniser that waits until what it sent was listened to, and recalled for."""
    now = time_now_iso8601()
    sent = [
        frames.VADUserStartedSpeakingFrame(start_secs=0.2),
        *(frames.InterimTranscriptionFrame(words, "user", now) for words in interims),
        frames.TranscriptionFrame(QUESTION, "user", now, finalized=True),
    ]

    async def inside():
        async with VoicePipeline(lambda _: "I see.", memory=memory(config, engine=engine)) as voice:
            saw(voice, Mark)
            for frame in sent:
                await voice.worker.queue_frame(frame)
                voice.kinds.discard(Mark)
                await voice.worker.queue_frame(Mark())
                await voice.until(lambda: saw(voice, Mark))
                await asyncio.to_thread(engine.indexer.ahead.submit(lambda: None).result, 10)
            await voice.worker.queue_frame(frames.VADUserStoppedSpeakingFrame(stop_secs=0.2))
            await voice.until(lambda: bool(with_words(voice, 1)))
            return voice

    return run(inside())


def taken(engine) -> dict[str, int]:
    """What turns took of what was recalled ahead."""
    counts = engine.metrics.counts()
    hows = ("stood", "vector", "redone")
    return {how: n for how in hows if (n := counts.get(f"prefetch_{how}", 0))}


def test_prefetch_words_that_were_only_heard_are_kept_nowhere(engine, config):
    turn_in_parts(config, engine, "my secret is zanzibar")
    engine.store.flush(None)
    assert "zanzibar" not in str(engine.upkeep.stats()) + str(ledger_of(engine)) + str(
        session_turns(engine)
    )
    assert residue(config.folder, "max") and not residue(config.folder, "zanzibar")


def test_prefetch_trouble_with_what_is_heard_costs_nothing(engine, config, monkeypatch):
    monkeypatch.setattr(engine.retrieval, "begin", lambda _: 1 / 0)
    voice = turn_in_parts(config, engine, QUESTION)
    assert "Max" in contents(voice.server.requests[0])[-1] and voice.errors == []
    assert engine.metrics.counts()["failures"] > 0


@pytest.mark.parametrize("withdrawn", [False, True])
async def test_prefetch_eager_turn_takes_what_was_recalled_ahead(engine, config, withdrawn):
    eager = EagerVoice(memory(config, engine=engine))
    async with eager.voice:
        await eager.begin("what is my dog called")
        first = taken(engine)
        if withdrawn:
            await eager.queue(frames.EagerEndOfTurnCancelFrame())
        await eager.end("What is my dog called?")
        await eager.voice.server.wait_for_requests(1 + withdrawn)
        await eager.voice.answer()
    voice = eager.voice
    assert sum(first.values()) == 1 and sum(taken(engine).values()) == 1 + withdrawn
    assert all("Max" in contents(request)[-1] for request in voice.server.requests)
    assert len(ledger_of(engine)) == 1
    assert [text for _, text in logged_words(engine)][0] == "What is my dog called?"
