"""``slowcat-memory chat``: chat with a local model in the terminal, with a memory."""

import asyncio
import sys
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

import typer
from loguru import logger
from msgspec.structs import replace
from rich.console import Console
from rich.text import Text

from slowcat_memory.cli.look import print_recall, recall_of
from slowcat_memory.cli.shell import count, out, printable, short
from slowcat_memory.config import Config
from slowcat_memory.core.render.memory_block import Packed
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.errors import EndpointError
from slowcat_memory.processor import HybridContextualMemoryProcessor
from slowcat_memory.providers.llm.model_servers import KNOWN, ModelServer, choose_server
from slowcat_memory.runtime.recall.query import Recollection
from slowcat_memory.testing.headless import HeadlessConversation, Reply

T = TypeVar("T")

INSTRUCTION = "You are a friendly assistant. The user types to you; answer briefly, in plain text."
NO_ANSWER = "(no answer)"
AGENT = "Agent> "
SILENT = ("pipecat", "slowcat_memory.processor.turn")
"""Loggers whose lines the chat replaces: its errors take one line, and each turn shows its time."""
HELP = {
    "/why": "what was recalled for the last turn, and how likely it answers",
    "/help": "this list",
    "/quit": "leave, as Ctrl-D and Ctrl-C do",
    "Remember that the key is behind the clock.": "keeps a note in your words",
    "Forget that.": "forgets the last exchange; Undo that: brings it back",
    "Forget what I said about Ben.": "says how many things mention it, and asks",
    "What do you know about me?": "tells you",
    "Why did you say that?": "names the memories behind the last answer",
    "Off the record, please.": "keeps nothing until you say: back on the record",
}
_ANSWER_S = 900.0  # a large model may have to be loaded first; the user can interrupt
_STOP_S = 10.0


def run_chat(config: Config, scope: str, llm_url: str, model: str) -> None:
    """Chat until the user leaves; ``llm_url`` and ``model`` are "" for the configured ones."""
    from slowcat_memory.engine import acquire

    config, console = _for_user(config, scope), out()
    server = choose_server(llm_url or config.llm.url, config.llm.allow_remote)
    if server is None:
        _print_how_to_start(console)
        raise typer.Exit(1)
    name = server.model(model or config.llm.model)
    config = replace(config, thinking=replace(config.thinking, first_url=server.url))
    with suppress(ImportError):  # not on Windows
        import readline  # noqa: F401  # line editing and history

    for logger_name in SILENT:
        logger.disable(logger_name)
    memory = acquire(config)
    try:
        _greet(console, memory, server, name)
        with ChatThread(memory, server.url, name) as thread:
            Chat(console, memory, thread).run()
    finally:
        memory.close()
        for logger_name in SILENT:
            logger.enable(logger_name)
    console.print("Saved. Until next time.", style="dim")


class ChatThread:
    """One conversation, whose pipeline runs on a thread of its own, with blocking calls.

    The main thread reads the user's lines, so Ctrl-C reaches it at once.
    """

    def __init__(self, memory: MemoryEngine, llm_url: str, llm_model: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="chat", daemon=True)
        user_id = memory.config.memory.user_id
        processor = HybridContextualMemoryProcessor(config=memory.config, user_id=user_id)
        processor.add_event_handler("on_memory_recalled", self._on_recalled)
        self._conversation = HeadlessConversation(
            llm_url=llm_url,
            llm_model=llm_model,
            memory=processor,
            system_instruction=INSTRUCTION,
            speaker="",
        )
        self.recalled: tuple[Recollection, Packed] | None = None

    def __enter__(self) -> "ChatThread":
        self._thread.start()
        self._wait(self._conversation.__aenter__())
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._wait(self._conversation.cancel(), _STOP_S)
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(_STOP_S)

    async def _on_recalled(self, _: Any, found: Recollection, packed: Packed) -> None:
        self.recalled = found, packed

    def ask(self, text: str, on_token: Callable[[str], None]) -> Reply:
        """Send a message and wait for the answer. Ctrl-C stops the answer, not the conversation.

        Args:
            on_token: Called with each piece of the answer, from the pipeline's thread.

        Raises:
            EndpointError: The model failed or did not answer.
        """
        self.recalled = None
        answer = asyncio.run_coroutine_threadsafe(
            self._conversation.type(text, on_token=on_token, timeout_s=_ANSWER_S), self._loop
        )
        reply = None
        try:
            try:
                reply = answer.result()
            except KeyboardInterrupt:
                self._wait(self._conversation.interrupt())
                reply = answer.result(_STOP_S)
            return reply
        finally:
            if reply is None or not reply.text:
                self._wait(self._fill_in())

    async def _fill_in(self) -> None:
        """Add a placeholder answer: many models refuse two user messages in a row."""
        self._conversation.context.add_message({"role": "assistant", "content": NO_ANSWER})

    def _wait(self, work: Coroutine[Any, Any, T], timeout_s: float | None = None) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout_s)


class Chat:
    """Reads lines: messages for the model, and commands that start with a slash."""

    def __init__(self, console: Console, memory: MemoryEngine, thread: ChatThread) -> None:
        self._out, self._memory, self._thread = console, memory, thread

    def _prompt(self) -> str:
        """Return the prompt, coloured where readline knows that colours take no room."""
        options = self._memory.config.memory
        called = self._memory.reader(options.user_id, local=True).called
        name = f"{called[0].now if called else options.user_name}> "
        coloured = self._out.is_terminal and "readline" in sys.modules
        return f"\n\001\033[1;32m\002{name}\001\033[0m\002" if coloured else f"\n{name}"

    def run(self) -> None:
        """Chat until the user leaves. Ctrl-C during an answer stops the answer."""
        while True:
            try:
                line = input(self._prompt())
            except (EOFError, KeyboardInterrupt):
                self._out.print()
                return
            words = line.encode("utf-8", "replace").decode().strip()
            if words == "/quit":
                return
            if words == "/why":
                self._why()
            elif words == "/help":
                for name, meaning in HELP.items():
                    self._out.print(Text.assemble((f"  {name}", "bold"), f"  {meaning}"))
            elif words.startswith("/"):
                self._out.print(Text(f"There is no {words}. See /help.", "yellow"))
            elif words:
                self._ask(words)

    def _ask(self, words: str) -> None:
        self._out.print(Text(AGENT, "bold magenta"), end="")
        try:
            reply = self._thread.ask(words, self._write)
        except EndpointError as error:
            why = f"No answer: {short(error.message, 240).rstrip('.')}. {error.hint}".strip()
            self._out.print(Text(f"\n{why}", "red"), soft_wrap=True)
            return
        stopped = " (stopped)" if reply.interrupted else ""
        if self._thread.recalled and self._thread.recalled[1].hits:
            found, packed = self._thread.recalled
            memories, ms = count(len(packed.hits), "memory"), found.timings["wait"]
            stopped += f"\n↳ {memories} recalled in {ms:.1f} ms, /why"
        self._out.print(Text(stopped, "dim"))

    def _write(self, text: str) -> None:
        self._out.print(Text(printable(text)), end="", soft_wrap=True)

    def _why(self) -> None:
        self._memory.flush(_STOP_S)
        with self._memory.snapshot() as snapshot:
            recall = recall_of(self._memory, snapshot) if self._thread.recalled else None
        if recall is None:
            self._out.print(Text("No recall yet.", "yellow"))
            return
        entry, memories = recall
        if not entry.offers:
            self._out.print("Nothing was recalled that is likely enough and not in this chat.")
        print_recall(entry, memories, self._memory.zone)


def _for_user(config: Config, scope: str) -> Config:
    """Return the options for a user; the name of another one than the configured is their id's."""
    from slowcat_memory.runtime.conversation.user_names import ANONYMOUS
    from slowcat_memory.runtime.namespaces.registry import scope_of_user

    known = config.memory
    name = known.user_name if scope == scope_of_user(known.user_id) else ANONYMOUS
    return replace(config, memory=replace(known, user_id=scope, user_name=name))


def _greet(console: Console, engine: MemoryEngine, server: ModelServer, model: str) -> None:
    scope = engine.config.memory.user_id
    with engine.snapshot() as snapshot:
        sessions = list(snapshot.sessions(scope))
    turns = sum(session.turns for session in sessions)
    held = f"{count(turns, 'turn')} from {count(len(sessions), 'session')}" if turns else "empty"
    report = engine.embedding
    ready = report.state in ("ready", "endpoint")
    hint = "is being prepared" if report.state == "needs export" else report.hint
    embedding = report.source if ready else f"by words alone for now: {report.source} {hint}"
    for name, value in {
        "model": f"{model}, {server.name} at {server.url}",
        "memory": f"of {scope} in {engine.config.folder}: {held}",
        "recall": embedding,
        "": "/help shows the commands, Ctrl-D leaves",
    }.items():
        console.print(Text.assemble((f"{name:>8}  ", "dim"), value), soft_wrap=True)


def _print_how_to_start(console: Console) -> None:
    console.print("No model server is running on this machine. Start one of these, then try again:")
    for known in KNOWN:
        console.print(Text(f"\n{known.name} (port {known.port})", "bold"))
        for command in known.start:
            console.print(Text(f"  {command}"), soft_wrap=True)
    console.print("\nOr name one with --llm-url. Without any: slowcat-memory demo", style="dim")
