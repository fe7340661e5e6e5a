"""``slowcat-memory chat`` and ``demo``: conversations in the terminal, with a real pipeline.

The demo is a conversation of nine weeks, and needs no LLM. Each session opens its own engine on the same folder and closes it afterwards, so the next session
recalls from disk. The clock follows the story. A turn is over when both of its halves are stored. The user's lines and the replies to statements are fixed; a parrot answers questions. A question
names words of the memory that must be recalled, which no other text has.
"""

import asyncio
import statistics
import sys
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal

import typer
from anyio.from_thread import BlockingPortal, start_blocking_portal
from loguru import logger
from msgspec import Struct
from msgspec.structs import replace
from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from slowcat_memory.cli.look import print_recall, recall_of
from slowcat_memory.cli.setup import prepare_model
from slowcat_memory.cli.shell import count, out, printable, short
from slowcat_memory.config import Config
from slowcat_memory.core.memory import ALWAYS
from slowcat_memory.core.render.memory_block import Packed
from slowcat_memory.engine import MemoryEngine, read_graph
from slowcat_memory.errors import EndpointError, ProviderError, StoreError
from slowcat_memory.processor import HybridContextualMemoryProcessor
from slowcat_memory.providers.llm.model_servers import choose_server
from slowcat_memory.providers.llm.server import KNOWN, Server
from slowcat_memory.records import Turn
from slowcat_memory.runtime.injection import words_of
from slowcat_memory.runtime.recall.query import Recollection
from slowcat_memory.testing import FixedClock, memory_config
from slowcat_memory.testing.headless import HeadlessConversation, Reply
from slowcat_memory.testing.server import ScriptedServer, parrot

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
    memory = MemoryEngine(config)
    try:
        _greet(console, memory, server, name)
        # The pipeline has a thread of its own: this one reads lines, so Ctrl-C reaches it at once.
        with start_blocking_portal() as portal:
            chat = Chat(console, memory, portal, server.url, name)
            with portal.wrap_async_context_manager(chat.conversation):
                chat.run()
    finally:
        memory.close()
        for logger_name in SILENT:
            logger.enable(logger_name)
    console.print("Saved. Until next time.", style="dim")


class Chat:
    """Reads lines: messages for the model, and commands that start with a slash."""

    def __init__(
        self,
        console: Console,
        memory: MemoryEngine,
        portal: BlockingPortal,
        llm_url: str,
        llm_model: str,
    ) -> None:
        self._out, self._memory, self._portal = console, memory, portal
        user_id = memory.config.memory.user_id
        processor = HybridContextualMemoryProcessor(engine=memory, user_id=user_id)
        processor.add_event_handler("on_memory_recalled", self._on_recalled)
        self.conversation = HeadlessConversation(
            llm_url=llm_url,
            llm_model=llm_model,
            memory=processor,
            system_instruction=INSTRUCTION,
            speaker="",
        )
        self._recalled: tuple[Recollection, Packed] | None = None

    async def _on_recalled(self, _: Any, recall: Recollection, packed: Packed) -> None:
        self._recalled = recall, packed

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
            reply = self._answer(words)
        except EndpointError as error:
            why = f"No answer: {short(error.message, 240).rstrip('.')}. {error.hint}".strip()
            self._out.print(Text(f"\n{why}", "red"), soft_wrap=True)
            return
        stopped = " (stopped)" if reply.interrupted else ""
        if self._recalled and self._recalled[1].hits:
            recall, packed = self._recalled
            memories, ms = count(len(packed.hits), "memory"), recall.timings["wait"]
            stopped += f"\n↳ {memories} recalled in {ms:.1f} ms, /why"
        self._out.print(Text(stopped, "dim"))

    def _answer(self, words: str) -> Reply:
        """Send a message and wait for the answer. Ctrl-C stops the answer, not the conversation.

        Raises:
            EndpointError: The model failed or did not answer.
        """
        self._recalled, reply = None, None
        send = partial(self.conversation.type, on_token=self._write, timeout_s=_ANSWER_S)
        answer = self._portal.start_task_soon(send, words)
        try:
            try:
                reply = answer.result()
            except KeyboardInterrupt:
                self._portal.call(self.conversation.interrupt)
                reply = answer.result(_STOP_S)
            return reply
        finally:
            if reply is None or not reply.text:
                # Many models refuse two user messages in a row.
                told: Any = {"role": "assistant", "content": NO_ANSWER}
                self._portal.call(self.conversation.context.add_message, told)

    def _write(self, text: str) -> None:
        self._out.print(Text(printable(text)), end="", soft_wrap=True)

    def _why(self) -> None:
        self._memory.flush(_STOP_S)
        with self._memory.snapshot() as snapshot:
            recall = recall_of(self._memory, snapshot) if self._recalled else None
        if recall is None:
            self._out.print(Text("No recall yet.", "yellow"))
            return
        entry, memories = recall
        if not entry.offers:
            self._out.print("Nothing was recalled that is likely enough and not in this chat.")
        print_recall(entry, memories, self._memory.zone)


def _for_user(config: Config, scope: str) -> Config:
    """Return the options for a user; the name of another one than the configured is their id's."""
    from slowcat_memory.runtime.namespaces.registry import ANONYMOUS, scope_of_user

    known = config.memory
    name = known.user_name if scope == scope_of_user(known.user_id) else ANONYMOUS
    return replace(config, memory=replace(known, user_id=scope, user_name=name))


def _greet(console: Console, engine: MemoryEngine, server: Server, model: str) -> None:
    scope = engine.config.memory.user_id
    with engine.snapshot() as snapshot:
        sessions = list(snapshot.sessions(scope))
    turns = sum(session.turns for session in sessions)
    held = f"{count(turns, 'turn')} from {count(len(sessions), 'session')}" if turns else "empty"
    report = engine.embedding.report
    ready = report.state in ("ready", "endpoint")
    hint = "is being prepared" if report.state == "needs export" else report.hint
    embedding = report.source if ready else f"by words alone for now: {report.source} {hint}"
    for name, value in {
        "model": f"{model}, {server.kind} at {server.url}",
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


USER = "Nora"
SCOPE = USER.casefold()
NIGHT_JOBS = ("facts", "merge", "session_summary", "profile")
WIDTH = 80
LIKELY = 0.5  # from here on, what is recalled for a statement is shown too
_FACTS = 6  # facts shown of a night
_TURN_S = 25.0  # how long a turn lasts by the story's clock
_NIGHT_S = 6 * 3600.0  # from the end of an evening to its idle work
_STORED_S = 10.0  # a disk slower than this has failed
_INTRO = (
    f"{USER} talks to a voice agent, on five days in nine weeks. After each conversation the "
    "program ends; only the memory on disk remains. ↳ is what the memory puts into the prompt."
)
_NEXT = {
    "slowcat-memory init": "a configuration and a memory of your own",
    "slowcat-memory chat": "talk to it, with a local LLM server",
    "slowcat-memory import chat.txt": "bring your old conversations",
    "slowcat-memory --help": "search, facts, why, forget, …",
}


class Cue(Struct, frozen=True):
    """One turn of the user, and the reply when no LLM is used."""

    text: str
    reply: str = ""  # "" to leave it to the LLM or the parrot
    expects: str = ""  # words of the memory that must be recalled, "" for none
    # "words" when the question shares words with its answer; "vectors" when it shares only the
    # meaning, so that lexical search alone cannot find it
    needs: Literal["words", "vectors"] = "words"
    unknown: bool = False  # the answer was never said, or is forgotten
    command: bool = False  # a voice command: the memory answers it itself


class Evening(Struct, frozen=True):
    """One session.

    Attributes:
        night: Whether the idle work of the night after it is played.
    """

    at: datetime
    lines: tuple[Cue, ...]
    night: bool = False


def _at(month: int, day: int, hour: int, minute: int) -> datetime:
    return datetime(2026, month, day, hour, minute, tzinfo=UTC)


STORY = (
    Evening(
        _at(3, 2, 19, 40),
        (
            Cue(
                "We brought our new puppy home today, a spaniel called Biscuit.",
                "Welcome home, Biscuit! Give him a quiet corner for the first nights.",
            ),
            Cue(
                "I work as a chemistry teacher at the school by the harbour, so he waits until four.",
                "A walk at lunch time would make the wait shorter for him.",
            ),
            Cue(
                "I'm allergic to walnuts, by the way: one bite and my throat swells up.",
                "Understood, I will never suggest anything with walnuts.",
            ),
        ),
    ),
    Evening(
        _at(3, 7, 10, 15),
        (
            Cue("What is my puppy called?", expects="our new puppy home today"),
            Cue(
                "My dog loves splashing in the river and chasing tennis balls.",
                "Then you will both come home wet and happy.",
            ),
            Cue(
                "My sister Clara lives in Vienna, so I take the night train to see her soon.",
                "By night train, what a lovely way to arrive.",
            ),
            Cue(
                "I never sleep a wink on the train, though.",
                "Take the lowest bunk on the night train, it sways the least, and pack earplugs.",
            ),
        ),
    ),
    Evening(
        _at(3, 19, 18, 5),
        (
            Cue("What does my animal enjoy?", expects="splashing in the river", needs="vectors"),
            Cue(
                "Grandma's lentil soup turned out right at last: cumin, lemon, and honey last.",
                "Honey at the very end, I would never have guessed.",
            ),
            Cue(
                "Big news: I quit my job at the school. I work as a guide at the science museum now.",
                "Congratulations! The visitors will be in good hands.",
            ),
        ),
        night=True,
    ),
    Evening(
        _at(4, 11, 21, 30),
        (
            Cue(
                "What is my profession these days?",
                expects="quit my job at the school",
                needs="vectors",
            ),
            Cue("Which nuts make me ill?", expects="one bite and my throat", needs="vectors"),
            Cue("What blood group do I have?", unknown=True),
            Cue("Remember that the spare key hangs behind the kitchen clock.", command=True),
        ),
    ),
    Evening(
        _at(5, 6, 20, 20),
        (
            Cue("Where did I put the spare key?", expects="spare key hangs behind"),
            Cue("What did you suggest I pack for the night train?", expects="Take the lowest bunk"),
            Cue("What goes into grandma's lentil soup?", expects="cumin, lemon, and honey"),
            Cue("What is my landlord called?", unknown=True),
            Cue("Forget what I said about the lentil soup.", command=True),
            Cue("Yes.", command=True),
            Cue("What goes into grandma's lentil soup?", unknown=True),
            Cue("Undo that.", command=True),
            Cue("Thank you, good night!", "Good night, Nora."),
        ),
    ),
)


def play_demo(folder: Path, *, no_vectors: bool) -> bool:
    """Play the story in a new folder; return the verdict."""
    console = out()
    console.width = min(console.width, WIDTH)
    logger.disable("pipecat")  # an error ends the demo, which reports it once
    try:
        config, embedding = ready(folder, no_vectors)
        console.print("\n[bold]slowcat-memory demo[/]\n" + _INTRO)
        console.print(f"Embedding: {embedding}", style="dim", markup=False)
        player = Player(config, console)
        asyncio.run(player.play(STORY))
        return player.print_result()
    finally:
        logger.enable("pipecat")


def ready(folder: Path, no_vectors: bool) -> tuple[Config, str]:
    """Prepare the embedding model, exporting it if needed; without one, use lexical search."""
    # Deadlines are far above a normal recall, so that a slow one is shown, not cancelled.
    config = memory_config(folder, memory={"user_name": USER})
    if no_vectors:
        return config, "none, as requested: words alone (BM25)"
    options = replace(config.embedding, kind="local")
    try:
        report = prepare_model(options)
        if report.state == "ready":
            return replace(config, embedding=options), report.source
        why = f"{report.source}. {report.hint}"
    except ProviderError as error:
        why = str(error)
    return config, f"none, words alone (BM25): {why}"


class DemoExchange(Struct, frozen=True, kw_only=True):
    """One exchange, and the recall for it.

    Attributes:
        ms: How long the turn waited for its memories; 0 for a voice command.
        found: Whether the memory that the story expects is in this block or in an earlier one of the session.
    """

    line: Cue
    reply: str
    ms: float
    packed: Packed
    found: bool


class Player:
    """Plays a story, shows it, and counts what came back.

    Attributes:
        vectors: Whether an embedding model is used; without one only shared words are found.
        exchanges: All of them.
        turns: Those in the store after each session.
    """

    def __init__(self, config: Config, console: Console) -> None:
        """Set the store, and where to show."""
        self._config, self._out = config, console
        self.vectors = config.embedding.kind != "none"
        self.exchanges: list[DemoExchange] = []
        self.turns: list[int] = []

    async def play(self, story: tuple[Evening, ...]) -> None:
        """Play a story to its end.

        Raises:
            SlowcatError: The store or the LLM failed.
        """
        replies = {line.text: line.reply for evening in story for line in evening.lines}

        def reply(request: dict[str, Any]) -> str:
            words = words_of(request["messages"][-1]).strip()
            return replies.get(words) or parrot(request, trusting=True)

        async with ScriptedServer(reply) as server:
            for number, evening in enumerate(story):
                clock = FixedClock(evening.at)
                engine = await asyncio.to_thread(MemoryEngine, self._config, clock=clock)
                try:
                    await asyncio.to_thread(engine.prepare, SCOPE)
                    days = (evening.at.date() - story[max(0, number - 1)].at.date()).days
                    later = f", {days} days later" if days else ""
                    stored = f" · {self.turns[-1]} turns on disk" if self.turns else ""
                    at = evening.at
                    self._rule(f"{at:%A} {at.day} {at:%B}{later}{stored}")
                    await self._converse(evening, engine, clock, server.url)
                    with engine.snapshot() as snapshot:
                        turns = sum(session.turns for session in snapshot.sessions(SCOPE))
                    self.turns.append(turns)
                    if evening.night:
                        await self._think(engine, clock)
                    if evening is story[-1]:
                        self._look_back(engine, (story[1].at, evening.at))
                finally:
                    await asyncio.to_thread(engine.close)  # embeds and saves what is pending

    async def _converse(
        self, evening: Evening, engine: MemoryEngine, clock: FixedClock, url: str
    ) -> None:
        memory = HybridContextualMemoryProcessor(engine=engine, user_id=SCOPE)
        recalled: asyncio.Queue[tuple[Recollection, Packed]] = asyncio.Queue()
        stored: asyncio.Queue[Turn] = asyncio.Queue()

        @memory.event_handler("on_memory_recalled")
        async def on_recalled(_: Any, recall: Recollection, packed: Packed) -> None:
            recalled.put_nowait((recall, packed))

        @memory.event_handler("on_exchange_stored")
        async def on_stored(_: Any, user: Turn, assistant: Turn) -> None:
            stored.put_nowait(assistant)

        injected: set[str] = set()  # texts that are in the conversation already
        async with HeadlessConversation(
            llm_url=url, llm_model="parrot", memory=memory, speaker=""
        ) as conversation:
            for line in evening.lines:
                reply = await conversation.say(line.text)
                if not reply.text:
                    raise EndpointError("the LLM answered with no words")
                recall, packed = Recollection(stage="skipped"), Packed("", (), 0)
                try:
                    async with asyncio.timeout(_STORED_S):
                        if not line.command:
                            recall, packed = await recalled.get()
                        await stored.get()
                except TimeoutError:
                    hint = conversation.errors[-1] if conversation.errors else ""
                    raise StoreError(f"no turn stored within {_STORED_S:g} s", hint=hint) from None
                injected |= {hit.memory.text for hit in packed.hits}
                exchange = DemoExchange(
                    line=line,
                    reply=reply.text,
                    ms=recall.timings.get("wait", 0.0),
                    packed=packed,
                    found=bool(line.expects) and any(line.expects in text for text in injected),
                )
                self.exchanges.append(exchange)
                self.show(exchange)
                clock.advance(_TURN_S)
                # Real speech takes longer than embedding what was said.
                await asyncio.to_thread(engine.flush, indexed=True)

    async def _think(self, engine: MemoryEngine, clock: FixedClock) -> None:
        clock.advance(_NIGHT_S)
        await asyncio.to_thread(engine.idle.until_done, NIGHT_JOBS)
        facts = [fact for fact in read_graph(engine, SCOPE).relations if fact.valid_from != ALWAYS]
        facts.sort(key=lambda fact: fact.valid_from, reverse=True)
        self._rule("That night, while nobody speaks")
        about = "Facts are drawn from what was said, here by rules, without an LLM:"
        self._out.print(Text(about, "dim"))
        ended = [fact for fact in facts if fact.valid_to]
        current = [fact for fact in facts if not fact.valid_to]
        for fact in (*current[: _FACTS - len(ended)], *ended):
            begun = f"since {_day(fact.valid_from)}"
            if fact.valid_to:
                begun = f"{_day(fact.valid_from)} to {_day(fact.valid_to)}"
            text = Text.assemble(fact.text, (f" ({begun})", "dim"))
            self._line(Text("•", "cyan"), text)

    def _look_back(self, engine: MemoryEngine, moments: tuple[datetime, ...]) -> None:
        self._rule("What was true when?")
        for at in moments:
            true = read_graph(engine, SCOPE, true=at).relations
            work = " ".join(row.text for row in true if row.statement.predicate == "works_as")
            self._out.print(Text.assemble((f"  {_day(at):<9}", "bold"), work or "nothing known"))

    # ------------------------------------------------------------------- what is shown

    def _line(self, name: Text, *cells: Text) -> None:
        table = Table.grid(padding=(0, 1), expand=len(cells) > 1)
        table.add_column(width=8, justify="right", no_wrap=True)
        table.add_column(ratio=1)
        table.add_row(name, *cells)
        self._out.print(table)

    def _rule(self, text: str) -> None:
        self._out.print()
        self._out.print(Rule(Text(text, "bold cyan"), align="left", style="cyan"))

    def show(self, exchange: DemoExchange) -> None:
        """Show an exchange, and the memory that answers; for a statement, the best if likely."""
        line, hits = exchange.line, exchange.packed.hits
        self._line(Text(USER, "bold green"), Text(line.text))
        expected = [hit for hit in hits if line.expects and line.expects in hit.memory.text]
        likely = [hit for hit in hits if (hit.probability or 0.0) >= LIKELY]
        for hit in expected or likely[:1]:
            memory = hit.memory
            who = "" if memory.speaker == USER else " Agent:"
            text = f"↳ {_day(memory.valid_from)},{who} “{memory.text}”"
            cell = Text(text, "cyan", no_wrap=True, overflow="ellipsis")
            self._line(Text(), cell, Text("✓" if expected else "", "green"))
        remark = "↳ nothing" if line.unknown and not hits else ""
        if line.command:
            remark = "a voice command: the memory answers, without the LLM"
        elif exchange.found and not expected:
            remark = "↳ the memory needed is in this conversation already"
        elif line.expects and not exchange.found:
            remark = "↳ the expected memory did not come"
        if remark:
            self._line(Text(), Text(remark, "dim"))
        self._line(Text("Agent", "bold magenta"), Text(exchange.reply))

    def missed(self) -> list[DemoExchange]:
        """Return the exchanges in which a memory that must come back did not."""
        return [
            exchange
            for exchange in self.exchanges
            if exchange.line.expects and not exchange.found
            if self.vectors or exchange.line.needs == "words"
        ]

    def print_result(self) -> bool:
        """Print what was counted, the verdict, and what to do next; return the verdict."""
        asked = [row for row in self.exchanges if row.line.expects]
        unknown = [row for row in self.exchanges if row.line.unknown]
        admitted = sum(not row.packed.hits or "don't know" in row.reply for row in unknown)
        wait = statistics.median(row.ms for row in self.exchanges if not row.line.command)
        total, paraphrased = (
            f"{sum(row.found for row in some)} of {len(some)}"
            for some in (asked, [row for row in asked if row.line.needs == "vectors"])
        )
        self._out.print()
        self._out.rule("[bold]What came back[/]", align="left")
        self._out.print(
            f"  {total} questions got the right memory; {paraphrased} share no word with it.\n"
            f"  {admitted} of {len(unknown)} questions about what was never said, or is"
            " forgotten, got none.\n"
            f"  {self.turns[-1]} turns in {count(len(self.turns), 'conversation')}.\n"
            f"  A turn waited {wait:.1f} ms for its memories (median).\n"
        )
        if self.missed():
            self._out.print("[bold red]A memory that must come back did not.[/]")
            return False
        by_words = "" if self.vectors else " Without an embedding model, only by shared words."
        self._out.print(f"[bold green]It remembers.[/]{by_words}\n")
        self._out.rule("[bold]Next[/]", align="left")
        for command, meaning in _NEXT.items():
            self._out.print(f"  [bold]{command:<32}[/]{meaning}")
        return True


def _day(at: datetime) -> str:
    return f"{at.day} {at:%B}"
