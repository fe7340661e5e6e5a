"""Every kind of turn that a voice agent meets, in whole pipelines on real HTTP.

Each test says what reached the LLM (the server's requests), what stands in the context, and what
was logged.
"""

import asyncio
import contextlib
from dataclasses import dataclass

import pytest
from pipecat.frames.frames import (
    DataFrame,
    EagerEndOfTurnCancelFrame,
    EagerTranscriptionFrame,
    Frame,
    InterruptionFrame,
    LLMContextFrame,
    LLMFullResponseEndFrame,
    LLMFullResponseStartFrame,
    LLMMessagesAppendFrame,
    LLMMessagesUpdateFrame,
    LLMRunFrame,
    LLMServiceMetadataFrame,
    LLMTextFrame,
    ProposedUserStartedSpeakingFrame,
    ProposedUserStoppedSpeakingFrame,
    StartFrame,
    TranscriptionFrame,
    UserMuteStartedFrame,
    VADUserStartedSpeakingFrame,
    VADUserStoppedSpeakingFrame,
)
from pipecat.pipeline.parallel_pipeline import ParallelPipeline
from pipecat.pipeline.pipeline import Pipeline
from pipecat.processors.aggregators import llm_response_universal as universal
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import (
    LLMContextAggregatorPair,
    LLMUserAggregatorParams,
)
from pipecat.processors.filters.function_filter import FunctionFilter
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat.tests.utils import SleepFrame, run_test
from pipecat.turns.user_mute import BaseUserMuteStrategy
from pipecat.turns.user_stop import SpeechTimeoutUserTurnStopStrategy
from pipecat.turns.user_turn_strategies import EagerUserTurnStrategies, UserTurnStrategies
from pipecat.utils.time import time_now_iso8601

from slowcat_memory import MemoryEngine
from slowcat_memory.core.render.memory_block import CLOSE, OPEN
from slowcat_memory.testing.server import ToolCall
from tests.support.memories import edges, engine_of, ledger, remember, said, turns
from tests.support.voice_pipeline import FunctionSchema, VoicePipeline, run
from tests.test_processor import MAX, QUESTION, Gate, assistant, blocks, memory, user
from tests.test_processor_faults import logged


@dataclass
class Mark(DataFrame):
    """A frame that nobody takes for anything."""


STORY = "There was a cat. It lived in a house. It liked fish. It slept all day. It was old."
DEVELOPER = {"role": "developer", "content": "Say hello."}


@pytest.fixture
def engine(config):
    """An engine of its own, so that a test can look into the log while the agent runs."""
    remember(config, MAX)
    engine = MemoryEngine(config)
    with contextlib.closing(engine):
        yield engine


def aggregators(context, **params) -> LLMContextAggregatorPair:
    stop = SpeechTimeoutUserTurnStopStrategy(user_speech_timeout=0.02)
    params.setdefault("user_turn_strategies", UserTurnStrategies(stop=[stop]))
    return LLMContextAggregatorPair(context, user_params=LLMUserAggregatorParams(**params))


def logged_words(engine) -> list[tuple[str, str]]:
    """What the log holds now, without the session of an earlier day."""
    assert engine.store.flush(5)
    with engine.store.snapshot() as snapshot:
        return [(t.speaker, t.text) for t in snapshot.turns() if not t.session.startswith("earl")]


def contents(request) -> list[str]:
    return [message["content"] for message in request["messages"]]


def last_said(request) -> str:
    """The last user message of a request, without its block."""
    content = [m["content"] for m in request["messages"] if m["role"] == "user"][-1]
    return content.partition(f"{CLOSE}\n\n")[2] if OPEN in content else content


def with_words(voice, count) -> list:
    return [turn for turn in voice.turns if turn.content][:count]


# ---------------------------------------------------------------- who starts


def test_a_plain_turn(config):
    remember(config, MAX)

    async def scenario():
        async with VoicePipeline(memory=memory(config)) as voice:
            answer = await voice.exchange(QUESTION)
            return voice, answer

    voice, answer = run(scenario())
    assert "My dog is called Max." in answer.content
    system, question = contents(voice.server.requests[0])
    assert system.startswith("You are a cat.") and system.count(OPEN) == 1  # the one instruction
    assert question.startswith(OPEN) and question.endswith(f"{CLOSE}\n\n{QUESTION}")
    asked, answered = turns(config)[-2:]
    assert (asked.speaker, asked.text, asked.channel) == ("user", QUESTION, "voice")
    assert (answered.speaker, answered.text) == ("Assistant", answer.content)
    assert answered.reply_to == asked.id and not answered.interrupted
    assert edges(config)[2:] == ["start", "end disconnect"]


def test_the_instruction_is_optional(config):
    async def scenario():
        async with VoicePipeline(memory=memory(config, add_instruction=False)) as voice:
            await voice.exchange("hello")
            return contents(voice.server.requests[0])

    assert run(scenario()) == ["You are a cat.", "hello"]


def test_a_greeting_is_logged_and_nothing_is_recalled_for_it(engine, config):
    async def scenario():
        voice = VoicePipeline(lambda _: "Hello, Anna.", memory=memory(config, engine=engine))
        voice.context.add_message(dict(DEVELOPER))
        async with voice:
            await voice.worker.queue_frame(LLMRunFrame())
            await voice.answer()
            await voice.exchange("good morning")
        return voice

    voice = run(scenario())
    assert contents(voice.server.requests[0])[1:] == ["Say hello."]
    assert [text for _, text in logged_words(engine)] == [
        "Hello, Anna.",
        "good morning",
        "Hello, Anna.",
    ]
    assert len(ledger_of(engine)) == 1


def test_a_rerun_recalls_and_logs_nothing_new(engine, config):
    async def scenario():
        async with VoicePipeline(memory=memory(config, engine=engine)) as voice:
            await voice.exchange(QUESTION)
            await voice.worker.queue_frame(LLMRunFrame())
            await voice.until(lambda: len(with_words(voice, 2)) == 2)
            return voice

    voice = run(scenario())
    first, second = voice.server.requests
    assert first["messages"] == second["messages"][: len(first["messages"])]
    assert sum(map(blocks, contents(second)[1:])) == 1
    assert [name for name, _ in logged_words(engine)] == ["user", "Assistant", "Assistant"]
    assert len(ledger_of(engine)) == 1


def ledger_of(engine):
    assert engine.store.flush(5)
    with engine.store.snapshot() as snapshot:
        return snapshot.ledger_tail(100)


def test_a_context_that_brings_its_history(engine, config):
    history = [user("my cat is called Tom"), assistant("Nice."), user("what is my dog called")]

    async def scenario():
        voice = VoicePipeline(memory=memory(config, engine=engine))
        voice.context.set_messages([dict(message) for message in history])
        async with voice:
            await voice.worker.queue_frame(LLMRunFrame())
            await voice.answer()
            assert voice.context.messages[:3] == history
            await voice.exchange("and what is my dog called")
        return voice

    voice = run(scenario())
    assert [name for name, _ in logged_words(engine)] == ["Assistant", "user", "Assistant"]
    assert voice.context.messages[:3] == history
    assert sum(blocks(m["content"]) for m in voice.context.messages) == 1


def test_history_that_comes_later_is_history_all_the_same(engine, config):
    history = [user("what is my dog called"), assistant("I don't know.")]

    async def scenario():
        async with VoicePipeline(memory=memory(config, engine=engine)) as voice:
            update = LLMMessagesUpdateFrame(messages=[*history, dict(DEVELOPER)], run_llm=True)
            await voice.worker.queue_frame(update)
            await voice.answer()
            assert contents(voice.server.requests[0])[1:] == [
                "what is my dog called",
                "I don't know.",
                "Say hello.",
            ]
            assert [name for name, _ in logged_words(engine)] == ["Assistant"]

    run(scenario())


def test_a_context_replaced_by_equal_copies(engine, config):
    async def scenario():
        async with VoicePipeline(memory=memory(config, engine=engine)) as voice:
            await voice.exchange(QUESTION)
            for run_llm in (True, False):
                before = len(with_words(voice, 99))
                copies = [dict(m) for m in voice.context.messages]
                update = LLMMessagesUpdateFrame(messages=copies, run_llm=run_llm)
                await voice.worker.queue_frame(update)
                if run_llm:
                    await voice.until(lambda: len(with_words(voice, 99)) > before)  # noqa: B023
            await voice.exchange(QUESTION)  # word for word the same, and yet a new turn
            return voice

    voice = run(scenario())
    asked = [text for name, text in logged_words(engine) if name == "user"]
    assert asked == [QUESTION, QUESTION]
    assert sum(map(blocks, contents(voice.server.requests[-1])[1:])) == 1  # the copy still shows it


@pytest.mark.parametrize("typed", [False, True])
def test_the_same_words_after_the_context_was_copied_are_a_new_turn(engine, config, typed):
    async def scenario():
        async with VoicePipeline(memory=memory(config, engine=engine)) as voice:
            await voice.exchange(QUESTION)
            copies = [dict(m) for m in voice.context.messages]
            if typed:
                await voice.worker.queue_frame(LLMMessagesUpdateFrame(messages=copies))
                again = LLMMessagesAppendFrame(messages=[user(QUESTION)], run_llm=True)
                await voice.worker.queue_frame(again)
            else:
                voice.context.set_messages(copies)
                await voice.speak(QUESTION)
            await voice.until(lambda: len(with_words(voice, 2)) == 2)

    run(scenario())
    asked = [(turn.text, turn.channel) for turn in session_turns(engine) if turn.role == "user"]
    assert asked == [(QUESTION, "voice"), (QUESTION, "text" if typed else "voice")]


def test_another_context_in_between_changes_nothing(config):
    recalls = []

    async def scenario():
        processor = memory(config)

        async def recalled(*_):
            recalls.append(1)

        processor.add_event_handler("on_memory_recalled", recalled)
        async with VoicePipeline(lambda _: "I see.", memory=processor) as voice:
            await voice.exchange("hello")
            for frame in (LLMContextFrame(LLMContext(messages=[DEVELOPER])), LLMRunFrame()):
                before = len(with_words(voice, 99))
                await voice.worker.queue_frame(frame)
                await voice.until(lambda: len(with_words(voice, 99)) > before)  # noqa: B023

    run(scenario())
    assert [text for _, text in said(config)] == ["hello", "I see.", "I see.", "I see."]
    assert len(recalls) == 1


def test_a_copy_of_an_unanswered_message_is_no_new_turn(engine, config):
    async def scenario():
        async with VoicePipeline(memory=memory(config, engine=engine)) as voice:
            message = user("nothing is known of that")
            append = LLMMessagesAppendFrame(messages=[message], run_llm=True)
            await voice.worker.queue_frame(append)
            await voice.answer()
            update = LLMMessagesUpdateFrame(messages=[dict(message)], run_llm=True)
            await voice.worker.queue_frame(update)
            await voice.until(lambda: len(with_words(voice, 2)) == 2)

    run(scenario())
    assert [name for name, _ in logged_words(engine)] == ["User", "Assistant", "Assistant"]


# ---------------------------------------------------------------- tools


def test_a_tool_follow_up_sees_the_memory_and_recalls_nothing(engine, config):
    def reply(request):
        if request["messages"][-1]["role"] == "tool":
            return "It rains on Max."
        return ToolCall("get_weather", {"city": "Oslo"})

    async def get_weather(params):
        params.context.add_message({"role": "developer", "content": "tool note"})
        await params.result_callback({"sky": "rain"})

    tool = FunctionSchema("get_weather", "The weather.", {}, [], handler=get_weather)

    async def scenario():
        async with VoicePipeline(
            reply, tools=[tool], memory=memory(config, engine=engine)
        ) as voice:
            assert (await voice.exchange("what is the weather for my dog")).content
            return voice

    voice = run(scenario())
    first, second = voice.server.requests
    assert last_said(first) == last_said(second) == "what is the weather for my dog"
    assert second["messages"][: len(first["messages"])] == first["messages"]
    assert blocks(first["messages"][-1]["content"]) == 1
    assert len(ledger_of(engine)) == 1
    assert [text for _, text in logged_words(engine)] == [
        "what is the weather for my dog",
        "It rains on Max.",
    ]
    with engine.store.snapshot() as snapshot:
        *_, asked, answered = snapshot.turns()
    assert answered.tools == ("get_weather",) and asked.tools == ()
    assert answered.reply_to == asked.id


def test_tools_belong_to_the_turn_that_used_them(engine, config):
    def reply(request):
        last = request["messages"][-1]
        if last["role"] == "tool" or "weather" not in last["content"]:
            return "All right."
        return ["One moment.", ToolCall("get_weather")]

    async def get_weather(params):
        await params.result_callback({"sky": "rain"})

    tool = FunctionSchema("get_weather", "The weather.", {}, [], handler=get_weather)

    async def scenario():
        async with VoicePipeline(
            reply, tools=[tool], memory=memory(config, engine=engine)
        ) as voice:
            await voice.exchange("what is the weather")
            await voice.until(lambda: len(with_words(voice, 2)) == 2)
            await voice.exchange("thank you")

    run(scenario())
    asked, moment, told, _, answered = session_turns(engine)
    assert (moment.text, moment.reply_to) == ("One moment.", asked.id)
    assert (told.text, told.tools, told.reply_to) == ("All right.", ("get_weather",), asked.id)
    assert answered.tools == ()


# ---------------------------------------------------------------- interruptions


def test_an_interrupted_agent_has_said_what_was_heard(engine, config):
    async def scenario():
        async with VoicePipeline(
            lambda request: STORY if "story" in last_said(request) else "Yes?",
            memory=memory(config, engine=engine),
        ) as voice:
            await voice.speak("a story: what is my dog called?")
            await voice.until_spoken(2)
            before = len(voice.turns)
            await voice.speak("stop")
            await voice.until(lambda: any(t.content == "Yes?" for t in voice.turns[before:]))
            return voice

    voice = run(scenario())
    (asked, cut, stop, yes) = session_turns(engine)
    assert cut.interrupted and not yes.interrupted
    assert cut.text and STORY.startswith(cut.text) and cut.text != STORY
    assert cut.text == voice.turns[0].content
    assert (cut.reply_to, yes.reply_to) == (asked.id, stop.id)
    first, second = voice.server.requests
    assert second["messages"][: len(first["messages"])] == first["messages"]  # the block stays
    assert blocks(contents(first)[1]) == 1 and blocks(contents(second)[-1]) == 0


def session_turns(engine):
    assert engine.store.flush(5)
    with engine.store.snapshot() as snapshot:
        return [turn for turn in snapshot.turns() if not turn.session.startswith("earl")]


def test_an_agent_cut_off_before_a_word_has_said_nothing(engine, config):
    async def scenario():
        async with VoicePipeline(
            lambda request: STORY if "story" in last_said(request) else "Yes?",
            token_delay_s=0.05,
            memory=memory(config, engine=engine),
        ) as voice:
            await voice.speak("tell me a story")
            await voice.server.wait_for_requests(1)
            await voice.speak("stop")
            await voice.until(lambda: any(t.content == "Yes?" for t in voice.turns))

    run(scenario())
    assert [text for _, text in logged_words(engine)] == ["tell me a story", "stop", "Yes?"]
    assert not session_turns(engine)[-1].interrupted


def test_an_interruption_during_recall(engine, config):
    async def scenario():
        gate = Gate(engine)
        async with VoicePipeline(memory=memory(config, engine=engine)) as voice:
            await voice.speak("tell me of my dog")
            await gate.begun.wait()
            await voice.worker.queue_frame(VADUserStartedSpeakingFrame(start_secs=0.2))
            await voice.until(lambda: saw(voice, InterruptionFrame))
            gate.open.set()
            await voice.worker.queue_frame(VADUserStoppedSpeakingFrame(stop_secs=0.2))
            final = TranscriptionFrame(QUESTION, "user", time_now_iso8601(), finalized=True)
            await voice.worker.queue_frame(final)
            await voice.answer()
            return voice

    voice = run(scenario())
    (request,) = voice.server.requests
    _, first, second = contents(request)
    assert first == "tell me of my dog"  # nothing half done
    assert blocks(second) == 1 and second.endswith(QUESTION)
    assert [text for name, text in logged_words(engine) if name == "user"] == [first, QUESTION]


def saw(voice, kind: type[Frame]) -> bool:
    """Whether a frame of this kind has come to the pipeline's end."""
    if not hasattr(voice, "kinds"):
        voice.kinds = set()

        async def note(_, frame):
            voice.kinds.add(type(frame))

        voice.aggregators.assistant().add_event_handler("on_before_process_frame", note)
    return kind in voice.kinds


def test_a_cough_that_cuts_the_agent_off_is_no_turn(engine, config):
    if not hasattr(universal, "EmptyUserTurnConfig"):
        pytest.skip("recovery from empty user turns is newer than this Pipecat")

    def reply(request):
        if request["messages"][-1]["role"] == "developer":
            return "Did you say something?"
        return STORY

    async def scenario():
        voice = VoicePipeline(reply, memory=memory(config, engine=engine))
        voice.aggregators = aggregators(voice.context, user_turn_stop_timeout=0.1)
        async with voice:
            await voice.speak("tell me of my dog")
            await voice.until_spoken(1)
            await voice.worker.queue_frame(VADUserStartedSpeakingFrame(start_secs=0.2))
            await voice.worker.queue_frame(VADUserStoppedSpeakingFrame(stop_secs=0.2))
            await voice.until(lambda: any(t.content.startswith("Did") for t in voice.turns))
            return voice

    voice = run(scenario(), 40)
    asked, cut, recovered = session_turns(engine)
    assert cut.interrupted and cut.text.startswith("There was a cat.")
    assert recovered.text == "Did you say something?" and not recovered.interrupted
    assert asked.text == "tell me of my dog" and len(ledger_of(engine)) == 1
    assert sum(map(blocks, contents(voice.server.requests[-1])[1:])) == 1


# ---------------------------------------------------------------- typed text


def test_typed_text_is_a_turn(engine, config):
    async def scenario():
        async with VoicePipeline(memory=memory(config, engine=engine)) as voice:
            typed = LLMMessagesAppendFrame(messages=[user(QUESTION)], run_llm=True)
            await voice.worker.queue_frame(typed)
            await voice.answer()
            return voice

    voice = run(scenario())
    asked, answered = session_turns(engine)
    assert (asked.text, asked.channel, answered.channel) == (QUESTION, "text", "text")
    assert asked.speaker == "User"
    assert blocks(contents(voice.server.requests[0])[-1]) == 1


def test_typed_text_that_interrupts_is_answered_and_paired(engine, config):
    """What RTVI does with typed text: it interrupts, and appends at once."""

    async def scenario():
        async with VoicePipeline(
            lambda request: STORY if "story" in last_said(request) else "Yes?",
            memory=memory(config, engine=engine),
        ) as voice:
            await voice.speak("tell me a story")
            await voice.until_spoken(1)
            await voice.worker.queue_frame(InterruptionFrame())
            typed = LLMMessagesAppendFrame(messages=[user("stop")], run_llm=True)
            await voice.worker.queue_frame(typed)
            await voice.until(lambda: any(t.content == "Yes?" for t in voice.turns))

    run(scenario())
    told = {turn.text: turn for turn in session_turns(engine)}
    cut = next(turn for turn in told.values() if turn.interrupted)
    assert cut.reply_to == told["tell me a story"].id
    assert told["Yes?"].reply_to == told["stop"].id and not told["Yes?"].interrupted
    assert (told["tell me a story"].channel, told["stop"].channel) == ("voice", "text")


def test_text_typed_while_somebody_speaks(engine, config):
    async def scenario():
        async with VoicePipeline(memory=memory(config, engine=engine)) as voice:
            await voice.worker.queue_frame(VADUserStartedSpeakingFrame(start_secs=0.2))
            final = TranscriptionFrame("good morning", "anna", time_now_iso8601())
            await voice.worker.queue_frame(final)
            typed = LLMMessagesAppendFrame(messages=[user("typed words")], run_llm=True)
            await voice.worker.queue_frame(typed)
            await voice.server.wait_for_requests(1)
            await voice.worker.queue_frame(VADUserStoppedSpeakingFrame(stop_secs=0.2))
            await voice.server.wait_for_requests(2)
            await voice.until(lambda: len(with_words(voice, 2)) == 2)

    run(scenario())
    users = [(t.speaker, t.text, t.channel) for t in session_turns(engine) if t.role == "user"]
    assert users == [("User", "typed words", "text"), ("anna", "good morning", "voice")]


# ---------------------------------------------------------------- eager end of turn


class EagerVoice:
    """A voice pipeline whose recogniser predicts the end of turns."""

    def __init__(self, processor, reply=None):
        self.voice = VoicePipeline(reply, memory=processor)
        self.voice.aggregators = aggregators(
            self.voice.context, user_turn_strategies=EagerUserTurnStrategies()
        )
        self.queue = lambda frame: self.voice.worker.queue_frame(frame)

    async def begin(self, words, requests=1):
        """Speak up to where the recogniser predicts the end, and the LLM is asked."""
        await self.queue(ProposedUserStartedSpeakingFrame())
        await self.voice.until(lambda: saw(self.voice, InterruptionFrame))
        self.voice.kinds.clear()
        await self.queue(EagerTranscriptionFrame(words, "anna", time_now_iso8601()))
        await self.voice.server.wait_for_requests(requests)

    async def end(self, words):
        """Commit a transcript and end the turn."""
        await self.queue(TranscriptionFrame(words, "anna", time_now_iso8601(), finalized=True))
        await self.queue(ProposedUserStoppedSpeakingFrame())


def test_an_eager_turn_that_holds_is_recalled_once_and_logged_when_it_holds(engine, config):
    async def scenario():
        eager, heard = EagerVoice(memory(config, engine=engine)), []
        voice = eager.voice
        processor = voice._memory[0]

        async def recalled(_, found, packed):
            heard.append(len(packed.hits))

        processor.add_event_handler("on_memory_recalled", recalled)
        async with voice:
            await eager.begin("What is my dog called")
            assert logged_words(engine) == [] and heard == []
            assert voice.context.messages == []
            await eager.end("what is my dog called?")
            await voice.answer()
            assert heard == [1]
            assert len(voice.server.requests) == 1
            await eager.begin("thank you", 2)
            await eager.end("Thank you!")
            await voice.until(lambda: len(with_words(voice, 2)) == 2)
        return voice

    voice = run(scenario())
    first, second = voice.server.requests
    provisional, real = contents(first)[-1], contents(second)[1]
    assert blocks(provisional) == blocks(real) == 1
    assert provisional.partition(CLOSE)[0] == real.partition(CLOSE)[0]  # the same block
    assert real.endswith("what is my dog called?")  # in front of the committed words
    users = [(t.speaker, t.text, t.channel) for t in session_turns(engine) if t.role == "user"]
    assert users == [
        ("anna", "what is my dog called?", "voice"),
        ("anna", "Thank you!", "voice"),
    ]
    assert len(ledger_of(engine)) == 2


def test_a_confirmed_turn_may_differ_in_more_than_we_compare(engine, config):
    """Pipecat decides that two transcripts are one turn; for it, "its" is "it's"."""

    async def scenario():
        eager = EagerVoice(memory(config, engine=engine))
        async with eager.voice:
            await eager.begin("its my dog again")
            await eager.end("It's my dog again.")
            await eager.voice.answer()
            assert len(eager.voice.server.requests) == 1
            assert blocks(eager.voice.context.messages[0]["content"]) == 1

    run(scenario())
    assert logged_words(engine)[0] == ("anna", "It's my dog again.")


def test_an_eager_turn_that_is_withdrawn_leaves_no_trace(engine, config):
    async def scenario():
        eager = EagerVoice(memory(config, engine=engine))
        async with eager.voice:
            await eager.begin("what is my dog called")
            await eager.queue(EagerEndOfTurnCancelFrame())
            await eager.end("never mind")
            await eager.voice.server.wait_for_requests(2)
            await eager.voice.answer()
        return eager.voice

    voice = run(scenario())
    assert contents(voice.server.requests[1])[1:] == ["never mind"]
    assert [text for name, text in logged_words(engine) if name == "anna"] == ["never mind"]
    (entry,) = ledger_of(engine)
    assert entry.offers == ()


def test_an_eager_turn_that_goes_on_is_recalled_for_what_was_said(engine, config):
    async def scenario():
        eager = EagerVoice(memory(config, engine=engine))
        async with eager.voice:
            await eager.begin("what is")
            await eager.end("what is my dog called")
            await eager.voice.server.wait_for_requests(2)
            await eager.voice.answer()
        return eager.voice

    voice = run(scenario())
    assert blocks(contents(voice.server.requests[1])[-1]) == 1
    assert [text for name, text in logged_words(engine) if name == "anna"] == [QUESTION]
    assert len(ledger_of(engine)) == 1


def test_an_eager_turn_that_is_withdrawn_during_recall(engine, config):
    async def scenario():
        eager, gate = EagerVoice(memory(config, engine=engine)), Gate(engine)
        recalls, engine_recall = [], engine.recall

        async def recall(text, *arguments, **named):
            recalls.append(text)
            return await engine_recall(text, *arguments, **named)

        engine.recall = recall
        async with eager.voice as voice:
            await eager.begin("what is my dog called", requests=0)
            await gate.begun.wait()
            await eager.queue(EagerEndOfTurnCancelFrame())
            await voice.until(lambda: saw(voice, EagerEndOfTurnCancelFrame))
            gate.open.set()
            await voice.server.wait_for_requests(1)
            await eager.end("what is my dog called")
            await voice.server.wait_for_requests(2)
            await voice.answer()
        return voice, recalls

    voice, recalls = run(scenario())
    assert recalls == [QUESTION, QUESTION]
    assert blocks(contents(voice.server.requests[1])[-1]) == 1
    assert len(ledger_of(engine)) == 1


def test_a_withdrawn_turn_said_again_is_recalled_afresh(engine, config):
    async def scenario():
        eager = EagerVoice(memory(config, engine=engine))
        async with eager.voice:
            await eager.begin("what is my dog called")
            await eager.queue(EagerEndOfTurnCancelFrame())
            await eager.end("what is my dog called")
            await eager.voice.server.wait_for_requests(2)
            await eager.voice.answer()
        return eager.voice

    voice = run(scenario())
    assert [blocks(contents(request)[-1]) for request in voice.server.requests] == [1, 1]
    assert len(ledger_of(engine)) == 1
    assert [text for name, text in logged_words(engine) if name == "anna"] == [QUESTION]


# ---------------------------------------------------------------- several speakers


def test_several_people_in_one_turn_become_a_turn_each(engine, config):
    async def scenario():
        processor = memory(config, engine=engine, speaker_names={"s1": "Anna"})
        async with VoicePipeline(memory=processor, speech_timeout_s=0.1) as voice:
            await voice.worker.queue_frame(VADUserStartedSpeakingFrame(start_secs=0.2))
            for speaker, words in (("s1", "I like tea."), ("s1", "Green tea."), ("ben", "Me too!")):
                frame = TranscriptionFrame(words, speaker, time_now_iso8601())
                await voice.worker.queue_frame(frame)
            await voice.worker.queue_frame(VADUserStoppedSpeakingFrame(stop_secs=0.2))
            await voice.answer()
            await voice.exchange("who likes green tea", user_id="s1")
            return voice

    voice = run(scenario())
    anna, ben, answer, *_ = session_turns(engine)
    assert (anna.speaker, anna.text) == ("Anna", "I like tea. Green tea.")
    assert (ben.speaker, ben.text) == ("ben", "Me too!")
    assert answer.reply_to == ben.id
    # All of it is still visible, in the words of both: nothing of it is offered again.
    assert "I like tea" not in contents(voice.server.requests[1])[-1]


def test_people_who_take_turns_are_told_apart(engine, config):
    async def scenario():
        async with VoicePipeline(memory=memory(config, engine=engine)) as voice:
            for speaker in ("anna", "ben", "", "anna"):
                await voice.exchange(f"good day from {speaker}", user_id=speaker)

    run(scenario())
    assert [name for name, _ in logged_words(engine) if name != "Assistant"] == [
        "anna",
        "ben",
        "User",
        "anna",
    ]


def test_muted_speech_is_nobodys_turn(engine, config):
    class Mute(BaseUserMuteStrategy):
        on = True

        async def process_frame(self, frame):
            await super().process_frame(frame)
            return self.on

    async def scenario():
        mute = Mute()
        voice = VoicePipeline(memory=memory(config, engine=engine))
        voice.aggregators = aggregators(voice.context, user_mute_strategies=[mute])
        async with voice:
            saw(voice, UserMuteStartedFrame)
            await voice.worker.queue_frame(Mark())
            await voice.until(lambda: saw(voice, UserMuteStartedFrame))
            muted = TranscriptionFrame("psst", "ben", time_now_iso8601())
            await voice.worker.queue_frame(muted)
            await voice.worker.queue_frame(Mark())
            await voice.until(lambda: saw(voice, Mark))
            mute.on = False
            await voice.worker.queue_frame(Mark())
            await voice.exchange("good morning", user_id="anna")

    run(scenario())
    assert logged_words(engine)[-2] == ("anna", "good morning")


# ---------------------------------------------------------------- the end


def test_cancelling_keeps_the_last_words(config):
    async def scenario():
        async with VoicePipeline(lambda _: STORY, memory=memory(config)) as voice:
            await voice.speak("tell me a story")
            await voice.until_spoken(2)
            await voice.cancel()
            return voice.spoken

    spoken = run(scenario())
    asked, told = turns(config)
    assert asked.text == "tell me a story" and told.reply_to == asked.id
    assert told.interrupted and told.text.startswith("There was a cat. It lived in a house.")
    assert told.text == " ".join(spoken) != STORY
    assert edges(config) == ["start", "end disconnect"]


def test_cancelling_in_the_middle_of_a_turn_keeps_the_users_words(config):
    async def scenario():
        async with VoicePipeline(memory=memory(config), speech_timeout_s=5) as voice:
            await voice.worker.queue_frame(VADUserStartedSpeakingFrame(start_secs=0.2))
            final = TranscriptionFrame("my last words", "anna", time_now_iso8601())
            await voice.worker.queue_frame(final)
            await voice.worker.queue_frame(VADUserStoppedSpeakingFrame(stop_secs=0.2))
            await voice.until(lambda: saw(voice, VADUserStoppedSpeakingFrame))
            await voice.cancel()

    run(scenario())
    assert said(config) == [("anna", "my last words")]


def test_ending_lets_the_agent_finish(config):
    async def scenario():
        async with VoicePipeline(lambda _: STORY, memory=memory(config), speed=20) as voice:
            await voice.speak("tell me a story")
            await voice.until_spoken(1)
            await voice.end()

    run(scenario())
    _, told = turns(config)
    assert (told.text, told.interrupted) == (STORY, False)
    assert edges(config) == ["start", "end disconnect"]


def test_a_client_that_leaves_and_comes_back(config):
    async def scenario():
        processor = memory(config)
        async with VoicePipeline(memory=processor) as voice:
            await voice.exchange("hello")
            processor.disconnected()
            processor.disconnected()
            await voice.exchange("here I am again")
            processor.disconnected()

    run(scenario())
    assert edges(config) == ["start", "end disconnect", "resume", "end disconnect"]
    assert len({turn.session for turn in turns(config)}) == 1


def test_a_silence_ends_the_session(tmp_path):
    from tests.support.stores import configured

    config = configured(tmp_path / "memory", sessions={"silence_s": 0.3})

    async def scenario():
        processor = memory(config)
        with contextlib.closing(MemoryEngine(config)) as engine:
            async with VoicePipeline(memory=memory(config, engine=engine)) as voice:
                await voice.exchange("hello")
                async with asyncio.timeout(5):
                    while "silence" not in [s.reason for s in sessions(engine)]:
                        await asyncio.sleep(0.02)
                await voice.exchange("hello again")
        del processor

    run(scenario())
    assert edges(config)[:3] == ["start", "end silence", "start"]
    assert len({turn.session for turn in turns(config)}) == 2


def sessions(engine):
    engine.store.flush(5)
    with engine.store.snapshot() as snapshot:
        return snapshot.sessions()


# ---------------------------------------------------------------- realtime services


class SpeechToSpeech(FrameProcessor):
    """What a realtime service sends: its answer first, the transcript of the question later."""

    async def process_frame(self, frame, direction):
        await super().process_frame(frame, direction)
        await self.push_frame(frame, direction)
        if isinstance(frame, StartFrame):
            for _ in range(2):
                await self.broadcast_frame(
                    LLMServiceMetadataFrame, service_name="realtime", is_realtime_service=True
                )
        elif isinstance(frame, Mark):
            await self.push_frame(LLMFullResponseStartFrame())
            heard = TranscriptionFrame(QUESTION, "anna", time_now_iso8601())
            await self.push_frame(heard, FrameDirection.UPSTREAM)
            await self.push_frame(LLMTextFrame("Max, "))
            await self.push_frame(LLMTextFrame("of course."))
            await self.push_frame(LLMFullResponseEndFrame())


@pytest.mark.parametrize("aggregators_known", [True, False])
def test_a_realtime_service_is_listened_to_and_not_prefixed(config, aggregators_known):
    remember(config, MAX)
    context = LLMContext()
    pair = LLMContextAggregatorPair(context)
    processor = memory(config)
    between = [processor] if aggregators_known else [Pipeline([processor])]
    pipeline = Pipeline([pair.user(), *between, SpeechToSpeech(), pair.assistant()])
    sent = [Mark(), SleepFrame(0.2)]
    with logged() as lines:
        asyncio.run(run_test(pipeline, frames_to_send=sent, start_timeout=10.0))
    assert context.messages == [user(QUESTION), assistant("Max, of course.")]
    asked, answered = turns(config)[-2:]
    assert (asked.text, answered.text) == (QUESTION, "Max, of course.")
    if aggregators_known:
        assert (asked.speaker, asked.channel) == ("anna", "voice")
        assert answered.reply_to == asked.id
    assert ledger(config) == []
    assert sum("realtime" in line and "slowcat" in line for line in lines) == 1


# ---------------------------------------------------------------- other shapes of pipelines


def test_a_nested_pipeline_with_its_aggregators_handed_over(config):
    remember(config, MAX)

    async def scenario():
        voice = VoicePipeline()
        processor = memory(config, aggregators=voice.aggregators)
        voice._memory = [Pipeline([Pipeline([processor])])]
        with logged("WARNING") as lines:
            async with voice:
                await voice.exchange(QUESTION, user_id="anna")
        assert not any("aggregators" in line for line in lines)
        return voice

    voice = run(scenario())
    assert blocks(contents(voice.server.requests[0])[-1]) == 1
    assert [name for name, _ in said(config)] == ["User", "anna", "Assistant"]


def test_a_branch_of_a_parallel_pipeline(config):
    remember(config, MAX)

    async def nothing(frame):
        return False

    context = LLMContext()
    pair = aggregators(context)
    branches = ParallelPipeline([memory(config, aggregators=pair)], [FunctionFilter(nothing)])
    sent = [
        VADUserStartedSpeakingFrame(start_secs=0.2),
        SleepFrame(0.02),
        TranscriptionFrame(QUESTION, "anna", time_now_iso8601(), finalized=True),
        VADUserStoppedSpeakingFrame(stop_secs=0.2),
        SleepFrame(0.3),
    ]
    pipeline = Pipeline([pair.user(), branches, pair.assistant()])
    asyncio.run(run_test(pipeline, frames_to_send=sent, start_timeout=10.0))
    assert blocks(context.messages[0]["content"]) == 1
    assert said(config)[-1] == ("anna", QUESTION)


def test_without_aggregators_one_warning_and_it_still_works(config):
    remember(config, MAX)

    async def scenario():
        voice = VoicePipeline(lambda _: STORY)
        voice._memory = [Pipeline([memory(config)])]
        with logged("WARNING") as lines:
            async with voice:
                await voice.speak(QUESTION)
                await voice.until_spoken(2)
                await voice.interrupt()
                await voice.answer()
                await voice.exchange("go on")
        assert sum("aggregators" in line for line in lines) == 1
        return voice

    voice = run(scenario())
    assert blocks(contents(voice.server.requests[0])[-1]) == 1
    _, asked, cut, _, told = turns(config)
    assert (asked.speaker, asked.text, cut.reply_to) == ("User", QUESTION, asked.id)
    assert cut.interrupted and STORY.startswith(cut.text)
    assert (told.text, told.interrupted) == (STORY, False)


def test_two_agents_share_one_engine(engine, config):
    async def scenario():
        async with (
            VoicePipeline(memory=memory(config, engine=engine, user_id="anna")) as anna,
            VoicePipeline(memory=memory(config, engine=engine, user_id="ben")) as ben,
        ):
            await asyncio.gather(
                anna.exchange("my parrot is called Rio"), ben.exchange("my parrot is called Lola")
            )
        async with (
            VoicePipeline(memory=memory(config, engine=engine, user_id="anna")) as anna,
            VoicePipeline(memory=memory(config, engine=engine, user_id="ben")) as ben,
        ):
            return await asyncio.gather(
                anna.exchange("what is my parrot called"), ben.exchange("what is my parrot called")
            )

    of_anna, of_ben = run(scenario())
    assert "Rio" in of_anna.content and "Lola" not in of_anna.content
    assert "Lola" in of_ben.content and "Rio" not in of_ben.content


def test_two_agents_of_one_path_share_its_store_and_the_last_closes_it(config):
    async def scenario():
        async with VoicePipeline(memory=memory(config)) as first:
            async with VoicePipeline(memory=memory(config)) as second:
                await second.exchange("my parrot is called Rio")
            return await first.exchange("what is my parrot called")

    assert "Rio" in run(scenario()).content
    with engine_of(config):  # nobody holds it any more
        pass
