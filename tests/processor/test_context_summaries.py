"""Beside Pipecat's own context summarizer: nothing is lost, nothing twice, and memories come back."""

from pipecat.frames.frames import LLMSummarizeContextFrame
from pipecat.processors.aggregators.llm_response_universal import LLMAssistantAggregatorParams
from pipecat.utils.context.llm_context_summarization import (
    LLMAutoContextSummarizationConfig,
    LLMContextSummaryConfig,
)

from tests.support.processors import QUESTION, ahead, blocks, contents, memory, session_turns
from tests.support.voice_pipeline import VoicePipeline, aggregators

SUMMARY = "They spoke of tea."
LINES = ("good morning", QUESTION, "i see", "now for something else", "what else is there", "fine")


class Summarised(VoicePipeline):
    """A voice pipeline whose context Pipecat summarises, by itself or when it is told to."""

    def __init__(self, processor, *, keep: int, after: int | None = None):
        answered = lambda request: "Indeed." if request.get("stream") else SUMMARY  # noqa: E731
        super().__init__(answered, memory=processor, speed=50)
        config = LLMAutoContextSummarizationConfig(
            max_context_tokens=None if after else 10**6,
            max_unsummarized_messages=after,
            summary_config=LLMContextSummaryConfig(min_messages_after_summary=keep),
        )
        summarised = LLMAssistantAggregatorParams(
            enable_auto_context_summarization=after is not None,
            auto_context_summarization_config=config,
        )
        self.aggregators = aggregators(self.context, assistant=summarised)
        self.applied = 0
        self.aggregators.assistant().add_event_handler("on_summary_applied", self._on_summary)

    async def _on_summary(self, *_):
        self.applied += 1
        await self._tell()

    async def summarise(self):
        before = self.applied
        await self.worker.queue_frame(LLMSummarizeContextFrame())
        await self.until(lambda: self.applied > before)

    @property
    def asked(self):
        """The requests of the conversation."""
        return [request for request in self.server.requests if request.get("stream")]


def people(engine):
    return [turn.text for turn in session_turns(engine) if turn.role == "user"]


async def test_summary_context_that_is_summarised_again_and_again(engine, config):
    async with Summarised(memory(config, engine=engine), keep=2, after=5) as voice:
        for number in range(12):
            before = voice.applied
            await voice.exchange(f"{LINES[number % len(LINES)]} number {number}")
            if len(ahead(voice)) > before:
                await voice.until(lambda: voice.applied > before)  # noqa: B023
    said = [f"{LINES[number % len(LINES)]} number {number}" for number in range(12)]
    assert voice.applied >= 3
    covered = "\n".join("\n".join(contents(request)) for request in ahead(voice))
    present = "\n".join(message["content"] for message in voice.context.messages)
    assert [line for line in said if line not in covered and line not in present] == []
    assert people(engine) == said  # each once, and no summary among them
    for request in voice.asked:
        assert all(blocks(words) <= 1 for words in contents(request)[1:])
        assert sum("dog is called Max" in words for words in contents(request)) <= 1


async def test_summary_memories_come_back_when_a_summary_took_them_away(engine, config):
    async with Summarised(memory(config, engine=engine), keep=2) as voice:
        await voice.exchange("say something about a dog")
        await voice.exchange("who was called Max")
        await voice.exchange("thank you")
        await voice.summarise()
        assert not any(blocks(m["content"]) for m in voice.context.messages)
        await voice.exchange("tell me of a dog called Max")
    offered = ["dog is called Max" in contents(request)[-1] for request in voice.asked]
    assert offered == [True, False, False, True]
    assert contents(voice.asked[-1])[1] == f"Conversation summary: {SUMMARY}"
    assert len(people(engine)) == 4


async def test_what_a_summary_removes_during_a_recall_is_recalled(engine, config, monkeypatch):
    async def meanwhile(*given, recall=engine.recall, **how):
        if how["exclude"]:
            voice.context.set_messages(voice.context.messages[-1:])
        return await recall(*given, **how)

    monkeypatch.setattr(engine, "recall", meanwhile)
    async with VoicePipeline(memory=memory(config, engine=engine)) as voice:
        await voice.exchange(QUESTION)
        await voice.exchange("who was called Max")
    assert all("dog is called Max" in contents(sent)[-1] for sent in voice.server.requests)
