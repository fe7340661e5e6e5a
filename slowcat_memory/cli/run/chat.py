"""``slowcat-memory chat``: chat with a local model in the terminal, with a memory."""

import re
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import replace
from rich.console import Console
from rich.text import Text

from slowcat_memory.cli.shared.output import count, out, row, short, table, when
from slowcat_memory.cli.shared.settings import settings
from slowcat_memory.config import Config
from slowcat_memory.errors import EndpointError, SlowcatError
from slowcat_memory.providers.llm.model_servers import KNOWN, ModelServer, choose_server

if TYPE_CHECKING:
    from slowcat_memory.cli.run.chat_pipeline import ChatThread
    from slowcat_memory.engine import Memory

SILENT = ("pipecat", "slowcat_memory.processor.turn")
"""Loggers whose lines the chat replaces: its errors take one line, and each turn shows its time."""
AGENT = "Agent> "
SPOKEN = (
    ("Remember that the key is behind the clock.", "keeps a note in your words"),
    ("Forget that.", "forgets the last exchange; Undo that: has it back"),
    ("Forget what I said about Ben.", "says how many things mention it, and asks"),
    ("What do you know about me?", "tells you"),
    ("Why did you say that?", "names the memories behind the last answer"),
    ("Off the record, please.", "keeps nothing until you say: back on the record"),
)
_WORD = re.compile(r"\s*\S+|\s+")
_VIEWS = ("window", "dense")
_UNPRINTABLE = {c: None for c in (*range(32), *range(127, 160)) if c not in (9, 10)}


def chat(
    ctx: typer.Context,
    llm_url: Annotated[
        str, typer.Option(help="The server, such as http://127.0.0.1:1234/v1.", metavar="URL")
    ] = "",
    model: Annotated[str, typer.Option(help="Its model; by default the first it offers.")] = "",
    user: Annotated[str, typer.Option(help="Whose memory: a name without spaces.")] = "",
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Let the server be on another machine.")
    ] = False,
) -> None:
    """Chat with a model on this machine, with a persistent memory.

    Finds LM Studio, Ollama and llama.cpp by itself. Uses the same Pipecat
    pipeline and the same memory as a voice agent. In the chat, /why shows
    what was recalled for the last turn, and /help lists the commands.

    Examples: [bold]slowcat-memory chat[/],
    [bold]slowcat-memory chat --user anna --model qwen3-4b[/]
    """
    known = settings(ctx)
    config = _for_user(known.config, user or known.scope())
    remote = allow_remote or config.llm.allow_remote
    console = out()
    server = choose_server(llm_url or config.llm.url, remote)
    if server is None:
        _print_how_to_start(console)
        raise typer.Exit(1)
    name = server.model(model or config.llm.model)
    config = replace(config, thinking=replace(config.thinking, first_url=server.url))
    _converse(config, server, name, console)


def _converse(config: Config, server: ModelServer, model: str, console: Console) -> None:
    from loguru import logger

    from slowcat_memory.cli.run.chat_pipeline import ChatThread
    from slowcat_memory.owner import open_memory

    with suppress(ImportError):  # not on Windows
        import readline  # noqa: F401  # line editing and history

    for name in SILENT:
        logger.disable(name)
    memory = open_memory(config, client="chat")
    try:
        _greet(console, memory, server, model)
        with ChatThread(memory, config.memory.user_id, server.url, model) as thread:
            Chat(console, memory, thread, config).run()
    finally:
        memory.release()
        for name in SILENT:
            logger.enable(name)
    console.print("Saved. Until next time.", style="dim")


class Wrapped:
    """Writes text as it comes, and begins a new line before a word that would not fit.

    Blanks and the last word are held back until it is known where they go.
    """

    def __init__(self, write: Callable[[str], None], width: int, column: int) -> None:
        """Set where to write, the width of a line, and the column of the first character."""
        self._write, self._width, self._column, self._held = write, width, column, ""

    def __call__(self, text: str) -> None:
        """Write what is complete of the text so far."""
        *complete, self._held = _WORD.findall(self._held + text) or [""]
        for word in complete:
            self._put(word)

    def end(self) -> None:
        """Write what is held back."""
        self._put(self._held)
        self._held = ""

    def _put(self, word: str) -> None:
        """Write a word with the blanks before it."""
        lines = word.split("\n")
        if len(lines) == 1 and self._column + len(word) > self._width and self._column:
            word = f"\n{word.lstrip()}"
            lines = word.split("\n")
        self._column = len(lines[-1]) + (self._column if len(lines) == 1 else 0)
        self._write(word)


class Chat:
    """Reads lines: messages for the model, and commands that start with a slash."""

    def __init__(
        self, console: Console, engine: "Memory", thread: "ChatThread", config: Config
    ) -> None:
        self._out, self._engine, self._thread = console, engine, thread
        self._scope, self._configured = config.memory.user_id, config.memory.user_name
        self._said = 0
        self._commands: dict[str, tuple[Callable[[], None], str]] = {
            "/why": (self._why, "what was recalled for the last turn, with scores"),
            "/stats": (self._stats, "size and speed of the memory"),
            "/forget": (self._forget, "delete the last exchange for good"),
            "/help": (self._help, "this list"),
            "/quit": (lambda: None, "leave, as Ctrl-D and Ctrl-C do"),
        }

    def _user_name(self) -> str:
        """Return the name that the user has given, or that of the scope."""
        called = self._engine.reader(self._scope, local=True).called
        return called[0].now if called else self._configured

    def _prompt(self) -> str:
        """Return the prompt, coloured where readline knows that colours take no room."""
        name = f"{self._user_name()}> "
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
            if words.startswith("/"):
                self._command(words)
            elif words:
                self._ask(words)

    def _command(self, words: str) -> None:
        if words not in self._commands:
            self._out.print(Text(f"There is no {words}. See /help.", "yellow"))
            return
        try:
            self._commands[words][0]()
        except SlowcatError as error:
            self._print_error(str(error))

    def _ask(self, words: str) -> None:
        self._said += 1
        self._out.print(Text(AGENT, "bold magenta"), end="")
        wrapped = Wrapped(self._write, self._out.width, len(AGENT))
        try:
            reply = self._thread.ask(words, wrapped)
        except EndpointError as error:
            self._out.print()
            self._print_error(
                f"No answer: {short(error.message, 240).rstrip('.')}. {error.hint}".strip()
            )
            return
        wrapped.end()
        stopped = " (stopped)" if reply.interrupted else ""
        self._out.print(Text(f"{stopped}{self._recalled()}", "dim"))

    def _write(self, text: str) -> None:
        self._out.print(Text(text.translate(_UNPRINTABLE)), end="", soft_wrap=True)

    def _recalled(self) -> str:
        if not self._thread.recalled or not self._thread.recalled[1].hits:
            return ""
        found, packed = self._thread.recalled
        held, ms = count(len(packed.hits), "memory"), found.timings["wait"]
        return f"\n↳ {held} recalled in {ms:.1f} ms, /why"

    def _why(self) -> None:
        if self._thread.recalled is None:
            self._out.print(Text("No recall yet.", "yellow"))
            return
        found, packed = self._thread.recalled
        if packed.hits:
            made = table("score", *_VIEWS, "when", "who", "text*")
            for hit in packed.hits:
                by = (f"{hit.views[view]:.2f}" if view in hit.views else "" for view in _VIEWS)
                memory = hit.memory
                at = when(memory.valid_from, self._engine.zone)
                row(made, f"{hit.score:.2f}", *by, at, memory.speaker, short(memory.text, 160))
            self._out.print(made)
        else:
            self._out.print(
                "Nothing was recalled that is relevant enough and not in this chat already."
            )
        how = {"full": "by words and meaning", "lexical": "by words"}.get(found.stage, found.stage)
        times = ", ".join(f"{name} {ms:.1f}" for name, ms in found.timings.items())
        self._out.print(f"{how}; a block of {packed.tokens} tokens; ms: {times}", style="dim")

    def _stats(self) -> None:
        stats = self._engine.stats()
        index = stats["index"].get(self._scope, {"memories": 0, "vectors": 0})
        wait = stats["latency_ms"].get("turn_wait")
        made = table("what", "how much*")
        row(made, "store", stats["path"])
        row(made, "on disk", f"{stats['disk_bytes'] / 1e6:.1f} MB")
        row(made, "your memories", f"{index['memories']:,}, {index['vectors']:,} with a vector")
        row(made, "embedding", self._engine.embedding.source)
        if wait:
            row(made, "recall", f"p50 {wait['p50']:.1f} ms, max {wait['max']:.1f} ms")
        self._out.print(made)

    def _forget(self) -> None:
        turns = self._thread.last_exchange() if self._said else []
        if not turns:
            self._out.print(Text("This conversation has no turns yet.", "yellow"))
            return
        for turn in turns:
            self._out.print(Text(f"  {turn.speaker}: {short(turn.text, 160)}"), soft_wrap=True)
        answer = ""
        with suppress(EOFError, KeyboardInterrupt):
            answer = input("Delete this for good? [y/N] ")
        if answer.strip().casefold() not in ("y", "yes"):
            self._out.print("Kept.")
            return
        gone = self._thread.forget(turns)
        self._said -= 1
        self._out.print(f"Deleted {count(len(gone.turns), 'turn')}, here and on disk.")

    def _help(self) -> None:
        for name, (_, meaning) in self._commands.items():
            self._out.print(Text.assemble((f"  {name:<9}", "bold"), meaning))
        self._out.print("Or say it, as to a voice agent:")
        for example, meaning in SPOKEN:
            self._out.print(Text.assemble((f"  {example}", "bold"), f": {meaning}"))

    def _print_error(self, what: str) -> None:
        self._out.print(Text(what, "red"), soft_wrap=True)


def _for_user(config: Config, user: str) -> Config:
    """Return the options for a user; the name of another one than the configured is their id's."""
    from slowcat_memory.runtime.conversation.user_names import ANONYMOUS
    from slowcat_memory.runtime.namespaces.registry import scope_of_user

    known = config.memory
    scope = scope_of_user(user or known.user_id)
    name = ANONYMOUS if user and scope != scope_of_user(known.user_id) else known.user_name
    return replace(config, memory=replace(known, user_id=scope, user_name=name))


def _greet(console: Console, engine: "Memory", server: ModelServer, model: str) -> None:
    scope = engine.config.memory.user_id
    with engine.snapshot() as snapshot:
        sessions = list(snapshot.sessions(scope))
    turns = sum(session.turns for session in sessions)
    held = f"{count(turns, 'turn')} from {count(len(sessions), 'session')}" if turns else "empty"
    report = engine.embedding
    embedding = {
        "ready": report.source,
        "endpoint": report.source,
        "needs export": f"{report.source} is being prepared; until then by words alone",
    }.get(report.state, f"none, by words alone: {report.source} {report.hint}".strip())
    for name, value in (
        ("model", f"{model}, {server.name} at {server.url}"),
        ("memory", f"of {scope} in {engine.config.folder}: {held}"),
        ("recall", embedding),
    ):
        console.print(Text.assemble((f"{name:>8}  ", "dim"), value), soft_wrap=True)
    console.print(Text("          /help shows the commands, Ctrl-D leaves", "dim"))


def _print_how_to_start(console: Console) -> None:
    console.print("No model server is running on this machine. Start one of these, then try again:")
    for known in KNOWN:
        console.print(Text(f"\n{known.name} (port {known.port})", "bold"))
        for command in known.start:
            console.print(Text(f"  {command}"), soft_wrap=True)
    console.print(
        Text("\nOr name one with --llm-url. Without any: slowcat-memory demo", "dim"),
    )
