"""A household with one agent: three people, a shared scope, visitors, and turns off the record.

The conversation is the processor's own, without a pipeline: its turns, commands, tools and its
registry of what it put into the context. Every utterance has words unique to its speaker
(`qanna17x`) among words that all share, so that any text that leaves the memory can be searched for
words of others (`Leak`).
"""

import asyncio
import json
import logging
import os
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec
from loguru import logger
from pipecat.frames.frames import Frame, LLMContextFrame, LLMTextFrame
from pipecat.processors.aggregators.llm_context import LLMContext

from slowcat_memory.core.memory import chunk_id, findable
from slowcat_memory.core.memory import turn_of as chunk_turn
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.processor.context_messages import ContextMessages
from slowcat_memory.processor.keywords import ConversationDeps
from slowcat_memory.processor.reports import Reports
from slowcat_memory.processor.turn import LiveConversation
from slowcat_memory.records import Hit, Memory
from slowcat_memory.runtime import injection
from slowcat_memory.runtime.conversation import session_tracker
from slowcat_memory.runtime.conversation.conversation import Audience
from slowcat_memory.runtime.conversation.session_tracker import OffRecord
from slowcat_memory.store.disk.folder import index_folder
from slowcat_memory.testing import FixedClock, HashEmbedder, ScriptedLLM, memory_config
from slowcat_memory.tools.functions import ToolCalls
from slowcat_memory.transfer.formats.rows import export
from tests.support.memories import contents
from tests.support.parroting_llm import think

PEOPLE = ("ann", "anna", "ben")  # the name of one begins that of another
VOICES = {f"voice-{name}": name for name in PEOPLE}
VISITORS = ("stranger", "television", "eve")
HOME, GUEST, OFF = "home", "guest", "off"
# Of these speakers only: files are binary, and any bytes may stand before a word.
WORD = re.compile(rf"q({'|'.join((*PEOPLE, HOME, GUEST, OFF))})\d+x")
THINGS = ("key", "bicycle", "doctor", "password", "present", "garden", "letter", "piano")
SHARED = (*THINGS, "the", "and", "of", "no", "a", "are", "the key", "of the")
KEPT = 14  # messages of the context


class Leak(AssertionError):
    """A law is broken: somebody's words are where they must not be."""

    def __init__(self, law: str, what: str) -> None:
        super().__init__(f"{law}: {what}")
        self.law = law


def whose(seen: Any) -> set[str]:
    """Return the speakers whose words are in a text."""
    return set(WORD.findall(seen if isinstance(seen, str) else repr(seen)))


def may_hold(scope: str) -> set[str]:
    """Return the speakers whose words may be in a scope; the household's may be in any."""
    return {scope, HOME} if scope in PEOPLE else {scope}


WORD_AND_TAIL = re.compile(r"q[a-z]+\d+x")


def scope_of(voice: str) -> str:
    return VOICES.get(voice, GUEST)


def readable(scopes: set[str]) -> set[str]:
    """Return the speakers whose words may be recalled for all of some scopes."""
    if GUEST in scopes:
        return set()
    return {HOME, *scopes} if len(scopes) == 1 else {HOME}


class Loud:
    """Stands in for the processor's guard: nothing is swallowed, and events are kept."""

    def __init__(self, home: "Household") -> None:
        self.home = home

    def run(self, work: Any, *arguments: Any, **named: Any) -> Any:
        return work(*arguments, **named)

    def soon(self, work: Any, *arguments: Any) -> None:
        work(*arguments)

    def log_failure(self, error: Exception) -> None:
        raise error

    def count(self, name: str) -> None:
        pass

    async def report(self, message: str, error: Exception) -> None:
        raise error

    def notify(self, event: str, *arguments: Any) -> None:
        if event == "on_memory_recalled":
            self.home.recalled.extend(arguments[0].hits)

    def spawn(self, work: Any) -> None:
        work.close()


class Household:
    """The engine, one conversation, and the counts so far.

    ``llm_share`` is how often idle work has an LLM.
    """

    llm_share = 0.7

    def __init__(self, folder: Path, seed: int) -> None:
        self.rng, self.clock, self.done = random.Random(seed), FixedClock(), Counter[str]()
        people = {"scopes": "each", "household": HOME, "guest": GUEST, "guest_hours": 24.0}
        tiers = {"warm": 20, "block_exchanges": 3}
        self.config = memory_config(
            folder,
            memory={"path": str(folder), "time_zone": "UTC", "hot_cache_size": 30,
                    "user_id": "anna"},
            people=people, tiers=tiers, recall={"floor": 0.0, "deadline_ms": 1e4, "warn_ms": 1e4},
            store={"durability": "relaxed"},
        )  # fmt: skip
        self.client: subprocess.Popen[str] | None = None
        self.logged: list[str] = []
        self.words, self.between_us = 0, False
        self.muted: list[tuple[str, str]] = []  # heard, and not in the next turn's words
        self.runner = asyncio.Runner()
        self.clocks = mock.patch.object(session_tracker, "monotonic", self.monotonic)
        self.clocks.start()
        self.open()

    # ---------------------------------------------------------------- life

    def open(self) -> None:
        self.engine = MemoryEngine(self.config, clock=self.clock, embedder=HashEmbedder())
        self.audience = Audience(self.config.people, "anna", VOICES)
        self.record = OffRecord(self.config.sessions, self.record_changed, self.monotonic)
        for scope in self.audience.recallable:
            self.engine.prepare(scope)
        self.context, self.answers, self.spoken = LLMContext(), list[str](), set[str]()
        self.tools, self.recalled = ToolCalls(), list[Hit]()
        self.owned = ContextMessages(lambda: [], lambda text: False)
        loud: Any = Loud(self)
        deps = ConversationDeps(
            config=self.config, audience=self.audience, speaker_names=VOICES,
            off_record=self.record, llm_is_local=self.rng.random() < 0.5,
            messages=self.owned, guard=loud, reports=Reports(loud, self.push, "", ""),
        )  # fmt: skip
        deps.engine = self.engine
        self.local = deps.llm_is_local

        async def begin() -> LiveConversation:
            return LiveConversation(deps, f"home-{self.number()}", self.push)

        self.live = self.runner.run(begin())
        self.talk = self.live.log
        self.greet(self.rng.choice(PEOPLE))

    def greet(self, scope: str) -> None:
        """Put the session head of one person into the system message, as an application would."""
        head = self.engine.session_context(scope, local=self.local)
        self.owned.add_head(head, scope)
        system = {"role": "system", "content": f"You are a cat.\n\n{head}"}
        self.context.set_messages([system, *self.context.messages[1:]])

    async def push(self, frame: Frame) -> None:
        if isinstance(frame, LLMTextFrame):
            self.answers.append(frame.text)

    def monotonic(self) -> float:
        return self.clock().timestamp()

    def record_changed(self, off: bool) -> None:
        if not off:
            self.engine.upkeep.drop_queries()

    def close(self) -> None:
        self.talk.disconnected()
        self.record.end()
        self.live.activity.end()
        self.engine.close()

    def end(self) -> None:
        """Close for good."""
        if self.client:
            self.client.kill()
            self.client.communicate()
        self.close()
        self.runner.close()
        self.clocks.stop()

    def ask_elsewhere(self, scope: str, text: str) -> dict[str, Any]:
        """Search, and read a head, in another process that uses this memory."""
        if self.client is None:
            self.client = subprocess.Popen(
                [sys.executable, "-m", "tests.harness.household", str(self.config.folder)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                env={**os.environ, "LOGURU_LEVEL": "CRITICAL"},
            )  # fmt: skip
        assert self.client.stdin and self.client.stdout
        print(json.dumps([scope, text]), file=self.client.stdin, flush=True)
        return json.loads(self.client.stdout.readline())  # type: ignore[no-any-return]

    def number(self) -> int:
        self.words += 1
        return self.words

    # ---------------------------------------------------------------- words

    def sentence(self, owner: str) -> str:
        """Make a common sentence with words that only one speaker has."""
        thing, more = self.rng.sample(THINGS, 2)
        owner = OFF if self.between_us else owner
        mine = [f"q{owner}{self.number()}x" for _ in range(2)]
        return f"the {thing} of {mine[0]} and the {more} are {mine[1]}"

    def question(self) -> str:
        """Ask a question, half the time with a speaker's unique word."""
        thing = self.rng.choice(THINGS)
        owner = self.rng.choice((*PEOPLE, HOME, GUEST))
        named = f" q{owner}{self.rng.randint(1, max(1, self.words))}x" * self.rng.randint(0, 1)
        return f"where is the {thing}{named}"

    def clean(self, law: str, seen: Any, allowed: Iterable[str], where: str) -> None:
        """Raise if words of others are in a text that was read."""
        self.done["looked"] += 1
        if strange := whose(seen) - set(allowed):
            raise Leak(law, f"{where}: words of {sorted(strange)}")

    def leaves(self, hits: Iterable[Hit]) -> None:
        """Raise if a local-only memory is among hits that may leave this machine."""
        if any(hit.memory.local_only for hit in hits):
            raise Leak("local", "a local-only memory leaves this machine")

    # ---------------------------------------------------------------- a turn

    def say(self, *voices: str, words: str = "") -> str:
        """Let people speak in one turn, and answer as the processor does.

        Returns:
            The answer of a command, "" if the LLM answered.
        """
        for voice, word in self.muted:
            self.talk.heard(voice, word)
        self.muted.clear()
        parts = [words or self.sentence(scope_of(voice)) for voice in voices]
        for voice, part in zip(voices, parts, strict=True):
            self.talk.heard(voice, part)
        return self.turn(" ".join(parts), {scope_of(voice) for voice in voices})

    def turn(self, text: str, speakers: set[str], reply: str = "") -> str:
        """Handle a turn that was heard; ``reply`` is the LLM's, "" for one of what was recalled."""
        self.trim()
        self.context.add_message({"role": "user", "content": text})
        self.answers.clear()
        self.recalled.clear()
        result = self.runner.run(self.live.before_reply(LLMContextFrame(self.context)))
        if set(self.talk.scopes) != speakers:
            raise Leak("speakers", f"{sorted(speakers)} spoke, not {self.talk.scopes}")
        allowed = readable(speakers)
        self.clean("recall", self.recalled, allowed, f"recalled for {sorted(speakers)}")
        if not self.local:
            self.leaves(self.recalled)
        if result.answered:
            return self.answered(" ".join(self.answers), speakers)
        self.check_request(allowed)
        if self.rng.random() < 0.25:
            self.call_tool(allowed)
        asked = injection.last_user_message(self.context.messages) or {}
        told = " ".join(WORD_AND_TAIL.findall(injection.block_of(asked))[:2])
        self.reply(reply or f"I know of {told or 'nothing'}")
        return ""

    def answered(self, answer: str, speakers: set[str]) -> str:
        """Check the spoken answer of a command, which then stands in the context."""
        self.done["spoken"] += 1
        said = set() if GUEST in speakers else readable(speakers)
        self.clean("answers", answer, said, f"said to {sorted(speakers)}")
        self.spoken.add(answer)
        self.reply(answer)
        return answer

    def reply(self, text: str) -> None:
        self.context.add_message({"role": "assistant", "content": text})
        self.talk.agent_begins()
        self.talk.agent_said(text, interrupted=False)

    def call_tool(self, allowed: set[str]) -> None:
        """Let the LLM search the memory, and send it the answer."""
        call, id_ = self.live.tool_call(), f"call-{self.number()}"
        name, given = self.rng.choice(
            [("search_memory", {"query": self.question()}), ("facts_list", {})]
        )
        told = self.tools.answer(name, given, call)
        self.clean("tools", told, allowed, f"the tool {name}")
        function = {"name": name, "arguments": json.dumps(given)}
        asked = {"id": id_, "type": "function", "function": function}
        self.context.add_messages(
            [
                {"role": "assistant", "tool_calls": [asked]},
                {"role": "tool", "tool_call_id": id_, "content": json.dumps(told)},
            ]
        )
        self.check_request({*allowed, *whose(given)})

    def check_request(self, allowed: set[str]) -> None:
        """Check what the LLM is sent, but for what was said aloud."""
        self.done["requested"] += 1
        calls, results = list[str](), list[str]()
        for message in self.context.messages:
            role, content = message["role"], message.get("content")
            if role == "system":
                self.clean("heads", content, allowed, "the system instruction")
            elif role == "user":
                self.clean("context", injection.block_of(message), allowed, "a block")
            elif role == "tool":
                results.append(message["tool_call_id"])
                self.clean("tools", content, allowed, "a tool's answer in the context")
            elif message.get("tool_calls"):
                calls += [call["id"] for call in message["tool_calls"]]
            elif content in self.spoken:
                self.clean("answers", content, allowed, "a command's answer in the context")
        if calls != results:
            raise Leak("tools", "a call without its answer, or the other way round")

    def trim(self) -> None:
        """Keep the context short, from a user's message on."""
        system, *rest = self.context.messages
        while len(rest) > KEPT or (rest and rest[0]["role"] != "user"):
            rest.pop(0)
        self.context.set_messages([system, *rest])

    # ---------------------------------------------------------------- idle work

    def think(self, llm: ScriptedLLM | None) -> None:
        """Do all idle work, and check its prompts: one person's words in each."""
        self.engine.flush(indexed=True)
        if self.rng.random() < 0.3:
            self.clock.advance(600)  # sessions rest
            self.talk.tick()
        think(self.engine, self.clock, llm, patience_s=1.0)
        if llm is None:
            return
        for prompt in llm.prompts:
            seen = whose(prompt.system + prompt.user)
            self.done["prompted"] += 1
            if GUEST in seen or OFF in seen or len(seen - {HOME}) > 1:
                raise Leak("prompts", f"{prompt.job} is sent words of {sorted(seen)} at once")

    def look_at_thoughts(self) -> None:
        """Check each scope's derived memories, preamble, contexts and keys."""
        with self.engine.store.snapshot() as snapshot:
            for scope in (*PEOPLE, HOME, GUEST):
                mine = may_hold(scope)
                made = [one for one in snapshot.memories(scope) if one.made]
                if scope == GUEST and made:
                    raise Leak("thoughts", "something is derived from a guest's words")
                self.done["derived"] += len(made)
                rest = [*snapshot.contexts(scope), *snapshot.keys(scope)]
                self.clean("thoughts", [*made, *rest], mine, f"what is derived for {scope}")
            self.clean(
                "thoughts", [snapshot.tasks(), snapshot.runs(), snapshot.cursors()], (), "idle work"
            )
        for scope in (*PEOPLE, HOME, GUEST):
            head = self.engine.session_context(scope, local=True)
            self.clean("heads", head, may_hold(scope), f"the head of {scope}")

    # ---------------------------------------------------------------- stored data

    def gone(self, words: Iterable[str]) -> None:
        """Raise if forgotten words are in any file or recall, or in the context's messages."""
        held = b"".join(data for _, data in contents(self.config.folder))
        for word in words:
            if re.search(rf"{word}".encode(), held):
                raise Leak("forgotten", f"{word} is still in a file")
            for scope in PEOPLE:
                hits = self.engine.search(word, scope, 5, local=True).hits
                if any(word in hit.memory.text for hit in hits):
                    raise Leak("forgotten", f"{word} is recalled for {scope}")

    def hits(self, scope: str) -> list[Hit]:
        return self.engine.search(self.question(), scope, 5, local=True).hits

    def look_into_caches(self) -> None:
        """Search the caches for words off the record, once that is over."""
        self.engine.flush(indexed=True)
        known = {*PEOPLE, HOME, GUEST}
        self.clean("caches", [*self.engine.tokenizer._known], known, "the tokenizer's cache")
        if self.between_us and self.engine.embedding._cached.cache_info().currsize:
            raise Leak("caches", "queries of off the record are in the embedder's cache")

    def look_everywhere(self) -> None:
        """Check each scope's log, export, index and files, the logs, and the caches."""
        self.look_into_caches()
        self.engine.store.flush(None)
        with self.engine.store.snapshot() as snapshot:
            for scope in snapshot.scopes():
                mine = may_hold(scope)
                self.clean("log", [*snapshot.events(scope)], mine, f"the log of {scope}")
                self.clean("log", [*snapshot.memories(scope)], mine, f"memories of {scope}")
                exported = json.dumps([*export(self.engine.store.snapshot, scope)])
                self.clean("log", exported, mine, "export")
                turns = [turn.id for turn in snapshot.turns(scope) if not turn.aside]
                found = [snapshot.read(scope, chunk_id(id_)) for id_ in turns]
                found += [m for m in snapshot.memories(scope) if not chunk_turn(m.id)]
                self.count(scope, [memory for memory in found if memory and findable(memory)])
        folder, known = self.config.folder, {*PEOPLE, HOME, GUEST}
        of = {index_folder(folder, scope): may_hold(scope) for scope in known}
        for name, data in contents(folder):
            mine = next((of[place] for place in (folder / name).parents if place in of), known)
            self.clean("files", data.decode("latin-1"), mine, name)
        self.clean("files", self.logged, (), "the logs")
        stats = msgspec.json.encode(self.engine.upkeep.stats()).decode()
        self.clean("files", stats, (), "statistics")

    def count(self, scope: str, known: list[Memory]) -> None:
        """An index must hold its scope's memories only, so that nothing needs filtering."""
        current = sum(not memory.retired_at for memory in known)
        loaded = next((n for n in self.engine.namespaces if n.scope == scope), None)
        if loaded is not None and not current <= len(loaded.searcher) <= len(known):
            held = len(loaded.searcher)
            extra = {id for id, _ in loaded.searcher.table.items()} - {
                memory.id for memory in known
            }
            raise Leak("index", f"{scope}'s holds {held}, not {current} to {len(known)}: {extra}")


class Ears:
    """Collects log lines at INFO and above."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines

    def __enter__(self) -> None:
        self.sink = logger.add(lambda line: self.lines.append(str(line)), level="INFO")
        self.handler = logging.Handler(logging.INFO)
        self.handler.emit = lambda entry: self.lines.append(entry.getMessage())  # type: ignore
        logging.getLogger().addHandler(self.handler)

    def __exit__(self, *exc: object) -> None:
        logger.remove(self.sink)
        logging.getLogger().removeHandler(self.handler)


def answer(folder: Path) -> None:
    """Be the other process: answer each line of standard input."""
    memory = MemoryEngine(memory_config(folder, idle={"enabled": False}))
    for line in sys.stdin:
        scope, text = json.loads(line)
        hits = memory.search(text, scope, 9).hits
        head = memory.session_context(scope)
        local = any(hit.memory.local_only for hit in hits)
        told = {"texts": [hit.memory.text for hit in hits], "head": head, "local": local}
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    answer(Path(sys.argv[1]))
