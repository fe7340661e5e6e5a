"""Plays one script and records it: who said what, and which request was for which turn."""

import asyncio
from collections.abc import Awaitable, Callable
from copy import deepcopy
from typing import Any

from pipecat.frames.frames import (
    EagerEndOfTurnCancelFrame,
    EagerTranscriptionFrame,
    Frame,
    InterimTranscriptionFrame,
    InterruptionFrame,
    LLMMessagesAppendFrame,
    LLMMessagesUpdateFrame,
    LLMRunFrame,
    LLMSummarizeContextFrame,
    ProposedUserStartedSpeakingFrame,
    ProposedUserStoppedSpeakingFrame,
    TranscriptionFrame,
    VADUserStartedSpeakingFrame,
    VADUserStoppedSpeakingFrame,
)
from pipecat.utils.context.llm_context_summarization import LLMContextSummaryConfig
from pipecat.utils.time import time_now_iso8601

from slowcat_memory.runtime.namespaces.registry import ANONYMOUS, default_name
from tests.harness.turn_laws import Laws, Said
from tests.harness.turn_script import Script, Step, Utterance
from tests.harness.turn_stage import Stage

KEPT = 2  # messages that a short summary keeps


class Held:
    """A gate in front of recall: an event when a recall waits, one to release it."""

    def __init__(self) -> None:
        self.begun, self.open, self.shut = asyncio.Event(), asyncio.Event(), False

    async def pass_through(self) -> None:
        """Wait at the gate if it is closed."""
        if self.shut:
            self.begun.set()
            await self.open.wait()

    def close(self) -> None:
        self.begun.clear()
        self.open.clear()
        self.shut = True

    def let_in(self) -> None:
        self.shut = False
        self.open.set()


class Player:
    """Plays the steps of a script, in order; each ends when all its effects have happened."""

    def __init__(self, script: Script, stage: Stage, door: Held) -> None:
        self.script, self.stage, self.door, self.laws = script, stage, door, Laws()
        self.people: list[Said] = []
        self.user = default_name(f"s{script.seed}", ANONYMOUS)  # says what is typed

    async def play(self) -> None:
        for number, step in enumerate(self.script.steps):
            act: Callable[[Step], Awaitable[None]]
            act = getattr(self, f"_{step.kind.replace(' ', '_')}")
            tales = len(self.laws.tales)
            try:
                await act(step)
            except TimeoutError:
                self.laws.fault("stuck", "something did not come")
            self.laws.unchanged(self.stage.context.messages)
            for place in range(tales, len(self.laws.tales)):
                self.laws.tales[place] += f" (step {number}: {step.kind} {step.way})"
            if self.laws.faults["stuck"]:
                return

    # ---------------------------------------------------------------- the account

    def _spoke(self, said: Utterance) -> None:
        parts = list[Said]()
        for speaker, words in said.parts:
            if parts and parts[-1][0] == speaker:
                parts[-1] = (speaker, f"{parts[-1][1]} {words}", "voice")
            else:
                parts.append((speaker, words, "voice"))
        self.people += parts

    def _request(self, number: int) -> list[Any]:
        return self.stage.asked[number - 1]["messages"]

    async def _reply_to(self, said: Utterance, before: int, answers: int = 1) -> None:
        await self.stage.until_asked(before + 1)
        self.laws.new_turn(self._request(before + 1), said, self.stage.context.messages)
        if answers:
            await self.stage.answered(before + answers)

    # ---------------------------------------------------------------- speaking

    async def _queue(self, *sent: Frame) -> None:
        for frame in sent:
            await self.stage.worker.queue_frame(frame)

    async def _begin(self) -> int:
        """Begin to speak; returns how many requests there were before."""
        began = self.stage.seen["began"]
        eager = self.script.eager
        start = ProposedUserStartedSpeakingFrame() if eager else VADUserStartedSpeakingFrame()
        await self._queue(start)
        await self.stage.until(lambda: self.stage.seen["began"] > began)
        return len(self.stage.asked)

    async def _utter(self, said: Utterance, way: str = "") -> None:
        """Send the transcripts of a turn that has begun, and its end."""
        self._spoke(said)
        *early, last = said.parts
        if way:
            heard = said.text[::-1] if way == "revised" else said.text[: len(said.text) // 2]
            await self._queue(InterimTranscriptionFrame(heard, last[0], time_now_iso8601()))
        user = self.stage.aggregators.user()
        for speaker, words in early:
            await self._queue(TranscriptionFrame(words, speaker, time_now_iso8601()))
            await self.stage.until(lambda: user.aggregation_string().endswith(words))  # noqa: B023
        final = TranscriptionFrame(last[1], last[0], time_now_iso8601(), finalized=True)
        if self.script.eager:
            await self._queue(final)
            await self.stage.until(lambda: user.aggregation_string().endswith(last[1]))
            await self._queue(ProposedUserStoppedSpeakingFrame())
        else:
            await self._queue(VADUserStoppedSpeakingFrame(), final)

    async def _speak(self, said: Utterance, way: str = "") -> int:
        """Speak a turn; returns how many requests there were before."""
        before = await self._begin()
        await self._utter(said, way)
        return before

    async def _say(self, step: Step) -> None:
        await self._reply_to(step.first, await self._speak(step.first, step.way))

    async def _tool(self, step: Step) -> None:
        self.stage.next_reply = "tool"
        before = await self._speak(step.first)
        await self._reply_to(step.first, before, answers=2)
        self.laws.continued(self._request(before + 2), self.stage.context.messages)

    # ---------------------------------------------------------------- interrupting

    async def _cut_recall(self, step: Step) -> None:
        self.door.close()
        before = await self._speak(step.first)
        await asyncio.wait_for(self.door.begun.wait(), self.stage.patience_s)
        interruptions = self.stage.seen[InterruptionFrame]
        await self._begin()
        await self.stage.until_interrupted(interruptions)
        self.door.let_in()
        await self._utter(step.then)
        await self._reply_to(step.then, before)

    async def _tell_a_story(self, step: Step) -> int:
        self.stage.next_reply = "story"
        before, words = await self._speak(step.first), self.stage.words()
        await self._reply_to(step.first, before, answers=0)
        await self.stage.until(lambda: self.stage.words() > words + 1)
        return before

    async def _cut_reply(self, step: Step) -> None:
        turns = len(self.stage.turns)
        await self._tell_a_story(step)
        await self._queue(InterruptionFrame())
        await self.stage.until(lambda: len(self.stage.turns) > turns)

    async def _barge_in(self, step: Step) -> None:
        before = await self._tell_a_story(step)
        await self._speak(step.then)
        await self._reply_to(step.then, before + 1)

    # ---------------------------------------------------------------- eager ends of turns

    async def _predict(self, words: str) -> int:
        """Begin to speak until an end is predicted; returns how many requests there were before."""
        before = await self._begin()
        await self._queue(EagerTranscriptionFrame(words, "anna", time_now_iso8601()))
        await self.stage.until_asked(before + 1)
        return before

    async def _eager_held(self, step: Step) -> None:
        said = step.first.alone()  # Pipecat compares finals joined without a space
        before = await self._predict(said.text)
        provisional = self._request(before + 1)
        self.laws.continued(provisional, None)
        await self._utter(said)
        await self.stage.answered(before + 1)
        self.laws.new_turn(provisional, said, self.stage.context.messages)
        self.laws.held(provisional, self.stage.context.messages)

    async def _eager_withdrawn(self, step: Step) -> None:
        before = await self._predict(step.first.text)
        await self._queue(EagerEndOfTurnCancelFrame())
        await self._utter(step.then)
        self.laws.continued(self._request(before + 1), None)
        await self._reply_to(step.then, before + 1)

    async def _eager_went_on(self, step: Step) -> None:
        before = await self._predict(f"{step.then.text} and")
        await self._utter(step.first)
        self.laws.continued(self._request(before + 1), None)
        await self._reply_to(step.first, before + 1)

    async def _eager_cut(self, step: Step) -> None:
        """Withdrawn while memories are recalled for it."""
        before = await self._begin()
        seen, cancelled = self.stage.seen, self.stage.seen[EagerEndOfTurnCancelFrame]
        self.door.close()
        await self._queue(EagerTranscriptionFrame(step.first.text, "anna", time_now_iso8601()))
        await asyncio.wait_for(self.door.begun.wait(), self.stage.patience_s)
        await self._queue(EagerEndOfTurnCancelFrame())
        await self.stage.until(lambda: seen[EagerEndOfTurnCancelFrame] > cancelled)
        self.door.let_in()
        await self.stage.until_asked(before + 1)
        await self._utter(step.first)
        await self._reply_to(step.first, before + 1)

    # ---------------------------------------------------------------- what applications do

    async def _append(self, role: str, content: Any, run_llm: bool = True) -> None:
        message = {"role": role, "content": content}
        await self._queue(LLMMessagesAppendFrame(messages=[message], run_llm=run_llm))
        await self.stage.until(lambda: any(m is message for m in self.stage.context.messages))

    async def _type(self, step: Step) -> None:
        text, before = step.first.text, len(self.stage.asked)
        self.people.append((self.user, text, "text"))
        if step.way == "interrupting":
            interruptions = self.stage.seen[InterruptionFrame]
            await self._queue(InterruptionFrame())
            await self.stage.until_interrupted(interruptions)
        in_parts = step.way == "in parts"
        await self._append("user", [{"type": "text", "text": text}] if in_parts else text)
        await self._reply_to(step.first, before)

    async def _type_quietly(self, step: Step) -> None:
        """Add text without an answer, and then a turn."""
        self.people.append((self.user, step.first.text, "text"))
        await self._append("user", step.first.text, run_llm=False)
        await self._say(Step("say", first=step.then))

    async def _same_again(self, before: int) -> None:
        await self.stage.answered(before + 1)
        self.laws.continued(self._request(before + 1), self.stage.context.messages)

    async def _run_again(self, step: Step) -> None:
        before = len(self.stage.asked)
        await self._queue(LLMRunFrame())
        await self._same_again(before)

    async def _prompt(self, step: Step) -> None:
        before = len(self.stage.asked)
        await self._append("developer", "Say something.")
        await self._same_again(before)

    async def _copies(self, step: Step) -> None:
        copies, before = deepcopy(self.stage.context.messages), len(self.stage.asked)
        if step.way == "in place":
            self.stage.context.set_messages(copies)
            return
        run_llm = step.way.endswith("run")
        await self._queue(LLMMessagesUpdateFrame(messages=copies, run_llm=run_llm))
        await self.stage.until(lambda: self.stage.context.messages[0] is copies[0])
        if run_llm:
            await self._same_again(before)

    async def _nothing(self, step: Step) -> None:
        if step.way == "typed":
            before = len(self.stage.asked)
            await self._append("user", "  ")
            await self._same_again(before)
            return
        ended = self.stage.seen["ended"]
        await self._begin()
        eager = self.script.eager
        stop = ProposedUserStoppedSpeakingFrame() if eager else VADUserStoppedSpeakingFrame()
        await self._queue(stop)
        await self.stage.until(lambda: self.stage.seen["ended"] > ended)

    # ---------------------------------------------------------------- summaries

    async def _summary(self, step: Step) -> None:
        messages = self.stage.context.messages
        if step.way == "by hand":
            whole = len(messages) > KEPT and messages[-KEPT].get("role") == "user"
            rest = messages[-KEPT:] if whole else []
            notes = {"role": "developer", "content": "They talked before."}
            await self._queue(LLMMessagesUpdateFrame(messages=[notes, *rest]))
            await self.stage.until(lambda: self.stage.context.messages[0] is notes)
        else:
            done = self.stage.seen["summarised"]
            if await self._ask_for_summary(0 if step.way == "all" else KEPT):
                await self._summarised(done)
        self.laws.shortened()

    async def _summary_meanwhile(self, step: Step) -> None:
        """A summary that comes while memories are recalled for the next turn."""
        self.stage.summary_may_come.clear()
        asked, done = await self._ask_for_summary(KEPT), self.stage.seen["summarised"]
        self.door.close()
        before = await self._speak(step.first)
        await asyncio.wait_for(self.door.begun.wait(), self.stage.patience_s)
        self.stage.summary_may_come.set()
        if asked:
            await self._summarised(done)
        self.laws.shortened()
        self.door.let_in()
        await self._reply_to(step.first, before)

    async def _ask_for_summary(self, keep: int) -> bool:
        """Ask Pipecat to summarise; False when there is too little to summarise."""
        if len(self.stage.context.messages) <= keep:
            return False
        asked = self.stage.seen["summary asked"]
        config = LLMContextSummaryConfig(min_messages_after_summary=keep)
        await self._queue(LLMSummarizeContextFrame(config=config))
        await self.stage.until(lambda: self.stage.seen["summary asked"] > asked)
        return True

    async def _summarised(self, before: int) -> None:
        await self.stage.until(lambda: self.stage.seen["summarised"] > before)
