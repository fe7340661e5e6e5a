"""``slowcat-memory demo``: a conversation of nine weeks in a few seconds; needs no LLM."""

import asyncio
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from loguru import logger
from msgspec.structs import replace
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from slowcat_memory import providers
from slowcat_memory.cli.demo.play import (
    LIMIT_MS,
    Exchange,
    Player,
    Recalled,
    Session,
    scripted_reply,
)
from slowcat_memory.cli.demo.script import STORY, USER
from slowcat_memory.cli.setup.model_servers import choose_server
from slowcat_memory.cli.shared.output import err, out, print_json
from slowcat_memory.config import Config, build_options
from slowcat_memory.errors import ProviderError
from slowcat_memory.testing.server import ScriptedServer

_PARROT = "none: a parrot that quotes the recalled memories"
_WIDTH = 96  # wider lines are harder to read
_SHOWN = 2  # memories of a turn: the best, and the expected one
_SLOW = (
    "The demo lets a slow recall finish. A real agent waits 10 ms, then goes on with what has been "
    "found by words. Other programs may be using this machine's processor."
)


def demo(
    llm_url: Annotated[
        str, typer.Option(help="Use your own LLM server, such as http://127.0.0.1:1234/v1.")
    ] = "",
    model: Annotated[str, typer.Option(help="Its model; by default the first one offered.")] = "",
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Let --llm-url be on another machine.")
    ] = False,
    path: Annotated[
        Path | None, typer.Option(help="A new folder for the store, which is kept.")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the temporary store.")] = False,
    no_vectors: Annotated[
        bool, typer.Option("--no-vectors", help="Search by words alone, without a model.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Play a conversation of nine weeks, and show what is recalled for each turn.

    Runs a real Pipecat pipeline without microphone and loudspeaker. The store, in
    a temporary folder, is closed and reopened between sessions. A parrot that
    quotes the recalled memories stands in for the LLM, unless you name one.

    Needs no network, unless the embedding model has to be downloaded. The exit
    code is 1 when a memory that must come back does not.

    Examples: [bold]slowcat-memory demo[/],
    [bold]slowcat-memory demo --llm-url http://127.0.0.1:1234/v1[/]
    """
    console = err() if as_json else out()
    console.width = min(console.width, _WIDTH)
    server = choose_server(llm_url, allow_remote) if llm_url else None
    with _folder(path, keep) as folder:
        config, embedding = _ready(_config(folder, no_vectors), console)
        about = {
            "embedding": embedding,
            "llm": f"{server.model(model)} at {server.url}" if server else _PARROT,
            "store": f"{folder}{'' if path or keep else ', deleted now; --keep keeps it'}",
        }
        view = None if as_json else View(console)
        if view:
            view.title(about)

        async def play() -> Player:
            show = view.show if view else lambda _: None
            if server:
                player = Player(config, server.url, server.model(model), show)
                await player.play(STORY)
                return player
            async with ScriptedServer(scripted_reply(STORY)) as parrot:
                player = Player(config, parrot.url, "parrot", show)
                await player.play(STORY)
                return player

        start = time.perf_counter()
        logger.disable("pipecat")  # an error ends the demo, which reports it once
        try:
            player = asyncio.run(play())
        finally:
            logger.enable("pipecat")
        vectors = config.embedding.kind != "none"
        result = player.summary(vectors=vectors, own_llm=server is not None)
        result["seconds"] = round(time.perf_counter() - start, 2)
        if view:
            view.result(result, about)
        else:
            played = {"sessions": player.sessions, "exchanges": player.exchanges}
            print_json({"result": result, **played, **about})
    raise typer.Exit(0 if result["ok"] else 1)


def _config(folder: Path, no_vectors: bool) -> Config:
    return build_options(
        {
            "memory": {"path": str(folder), "user_name": USER, "time_zone": "UTC"},
            # Far above a normal recall, so that a slow recall is shown, not cancelled.
            "recall": {"deadline_ms": 200, "warn_ms": 200},
            "embedding": {"kind": "none" if no_vectors else "local"},
        }
    )


def _ready(config: Config, console: Console) -> tuple[Config, str]:
    """Prepare the embedding model, exporting it if needed; without one, use lexical search."""
    options = config.embedding
    if options.kind == "none":
        return config, "none, as requested: words alone (BM25)"
    _, report = providers.open_query_embedder(options)
    try:
        if report.state == "needs export":
            console.print(f"First run: preparing {report.source}, about 15 s, once.", markup=False)
            with console.status("starting") as status:
                providers.export_model(options, lambda step: status.update(escape(step)))
            _, report = providers.open_query_embedder(options)
        if report.state == "ready":
            return config, report.source
        why = f"{report.source}. {report.hint}"
    except ProviderError as error:
        why = str(error)
    without = replace(config, embedding=replace(options, kind="none"))
    return without, f"none, words alone (BM25): {why}"


@contextmanager
def _folder(path: Path | None, keep: bool) -> Iterator[Path]:
    if path is not None:
        path = path.expanduser()
        if path.exists() and any(path.iterdir()):
            raise typer.BadParameter(f"{path} is not empty; the demo needs a new folder")
        yield path
        return
    folder = Path(tempfile.mkdtemp(prefix="slowcat-demo-"))
    try:
        yield folder
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


class View:
    """Prints the demo on a terminal while it is played."""

    def __init__(self, console: Console) -> None:
        self._out = console

    def title(self, about: dict[str, str]) -> None:
        head = Text.assemble(
            ("slowcat-memory demo", "bold"), f"   {USER} talks to a voice agent that remembers."
        )
        self._out.print()
        self._out.print(head)
        legend = "recalled for the turn: date, speaker, words, score, ✓ the one needed"
        self._pairs([("LLM", about["llm"]), ("Embedding", about["embedding"]), ("↳", legend)])

    def show(self, item: Session | Exchange) -> None:
        if isinstance(item, Exchange):
            return self._exchange(item)
        at = f"{item.at:%a} {item.at.day} {item.at:%b, %H:%M}"
        later = f", {item.days} days later" if item.days else ""
        store = f"store reopened: {item.turns} turns" if item.turns else "new store"
        head = Text.assemble(
            (f"Session {item.number}", "bold cyan"),
            f"  {at}{later}  ",
            (f"({store}, {item.open_ms:.0f} ms)", "dim"),
        )
        self._out.print()
        self._out.rule(head, align="left", style="cyan")
        return None

    def _exchange(self, one: Exchange) -> None:
        rows = Table.grid(padding=(0, 1), expand=True)
        rows.add_column(width=9, justify="right", no_wrap=True)
        rows.add_column(ratio=1)
        rows.add_column(width=7, justify="right", no_wrap=True)
        rows.add_column(width=1)
        rows.add_row(Text(USER, "bold green"), one.line.text, Text(f"{one.ms:.1f} ms", "dim"))
        for memory in _shown(one.recalled):
            style = "green" if memory.expected else "cyan"
            words = f"↳ {memory.at.day} {memory.at:%b}, {memory.speaker}: {memory.text}"
            text = Text(words, style, no_wrap=True, overflow="ellipsis")
            mark = Text("✓" if memory.expected else "", style)
            rows.add_row("", text, Text(f"{memory.score:.2f}", style), mark)
        if remark := _remark(one):
            rows.add_row("", Text(remark, "dim"))
        rows.add_row(Text("Assistant", "bold magenta"), Text(one.reply))
        self._out.print(rows)

    def result(self, sums: dict[str, Any], about: dict[str, str]) -> None:
        ms, slow = sums["recall_ms"], sums["slow"]
        names = {"Embedding": "embedding", "LLM": "llm", "Store": "store"}
        self._out.print()
        self._out.rule(Text("Summary", "bold"), align="left")
        self._pairs(
            [
                (
                    "Sessions",
                    f"{sums['sessions']} in {sums['days']} days, "
                    "store closed and reopened in between",
                ),
                ("Stored", f"{sums['turns_stored']} turns"),
                (
                    "Recalls",
                    f"{sums['recalls']}, p50 {ms['p50']:.1f} ms, p95 {ms['p95']:.1f} ms, "
                    f"max {ms['max']:.1f} ms{f'; {slow} above {LIMIT_MS:.0f} ms' * bool(slow)}",
                ),
                (
                    "Questions",
                    f"{sums['found']} of {sums['questions']} recalled the right memory "
                    f"({sums['paraphrased_found']} of {sums['paraphrased']} share no word with it)",
                ),
                (
                    "Never said",
                    f"{sums['unknown_admitted']} of {sums['unknown']} such questions rightly left "
                    "unanswered",
                ),
                ("Block", f"{sums['block_tokens']:.0f} tokens on average, when there is one"),
                *((name, about[key]) for name, key in names.items()),
            ]
        )
        if slow:
            self._out.print(Padding(Text(_SLOW, "dim"), (1, 2, 0, 2)))
        self._out.print(Padding(_verdict(sums), (1, 2, 0, 2)))
        self._out.print()

    def _pairs(self, pairs: list[tuple[str, str]]) -> None:
        table = Table.grid(padding=(0, 2))
        table.add_column(width=12, justify="right", style="dim", no_wrap=True)
        table.add_column()
        for name, value in pairs:
            table.add_row(name, Text(value))
        self._out.print(table)


def _shown(recalled: list[Recalled]) -> list[Recalled]:
    """Return the best memories; an expected one further down replaces the last of them."""
    shown = recalled[:_SHOWN]
    expected = [memory for memory in recalled if memory.expected]
    return shown if not expected or expected[0] in shown else [*shown[: _SHOWN - 1], *expected]


def _remark(one: Exchange) -> str:
    more = len(one.recalled) - _SHOWN
    if one.found and not any(memory.expected for memory in one.recalled):
        return "↳ the memory needed is in this conversation already"
    if one.found is False:
        return "↳ the expected memory did not come"
    if more > 0:
        return f"↳ and {more} more"
    return "↳ nothing" if one.line.unknown and not one.recalled else ""


def _verdict(sums: dict[str, Any]) -> Text:
    if not sums["ok"]:
        return Text("A memory that must come back did not.", "bold red")
    verdict = Text("It remembers.", "bold green")
    if not sums["vectors"]:
        verdict.append(" Without an embedding model, only by shared words.", "not bold default")
    next_step = " Next: slowcat-memory init, then slowcat-memory chat."
    return verdict.append(next_step, "not bold default")
