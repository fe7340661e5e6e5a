"""``slowcat-memory demo``: a conversation of nine weeks in two minutes; needs no LLM."""

import asyncio
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from loguru import logger
from msgspec.structs import replace
from rich.console import Console
from rich.markup import escape

from slowcat_memory import providers
from slowcat_memory.cli.demo.play import Item, Player, scripted_reply
from slowcat_memory.cli.demo.script import STORY, USER
from slowcat_memory.cli.demo.view import View
from slowcat_memory.cli.shared.output import err, out, print_json
from slowcat_memory.config import Config, build_options
from slowcat_memory.errors import ProviderError
from slowcat_memory.providers.llm.model_servers import choose_server
from slowcat_memory.testing.server import ScriptedServer

Play = Callable[[Callable[[Item], None]], Awaitable[Player]]
"""Plays the story, and calls back with each item."""
_PARROT = "none: a parrot that quotes the recalled memories"


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
    fast: Annotated[
        bool, typer.Option("--fast", help="Do not wait until a line can have been read.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Play a conversation of nine weeks, and show what is recalled for each turn.

    Also shows voice commands, a night's idle work, and what was true when. Runs a real Pipecat pipeline without microphone and loudspeaker. The store, in
    a temporary folder, is closed and reopened between sessions. A parrot that
    quotes the recalled memories stands in for the LLM, unless you name one. On a terminal it plays at a pace that can be read.

    Needs no network, unless the embedding model has to be downloaded. The exit
    code is 1 when a memory that must come back does not.

    Examples: [bold]slowcat-memory demo[/],
    [bold]slowcat-memory demo --llm-url http://127.0.0.1:1234/v1[/]
    """
    console = err() if as_json else out()
    server = choose_server(llm_url, allow_remote) if llm_url else None
    with _folder(path, keep) as folder:
        config, embedding = _ready(_config(folder, no_vectors), console)
        about = {
            "embedding": embedding,
            "llm": f"{server.model(model)} at {server.url}" if server else _PARROT,
            "store": f"{folder}{'' if path or keep else ', deleted now; --keep keeps it'}",
        }
        view = None if as_json else View(console, paced=console.is_terminal and not fast)
        if view:
            view.title(about)

        async def play(show: Callable[[Item], None]) -> Player:
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
            player = asyncio.run(_shown(play, view))
        finally:
            logger.enable("pipecat")
        vectors = config.embedding.kind != "none"
        result = player.summary(vectors=vectors, own_llm=server is not None)
        result["seconds"] = round(time.perf_counter() - start, 2)
        if view:
            view.result(result, about)
        else:
            played = {"sessions": player.sessions, "exchanges": player.exchanges}
            thought = {"night": player.night, "then": player.then}
            print_json({"result": result, **played, **thought, **about})
    raise typer.Exit(0 if result["ok"] else 1)


async def _shown(play: Play, view: View | None) -> Player:
    """Play the story, and show it meanwhile at the view's own pace."""
    if view is None:
        return await play(lambda _: None)
    items: asyncio.Queue[Item | None] = asyncio.Queue()
    loop = asyncio.get_running_loop()  # idle work is shown from another thread

    def show(item: Item | None) -> None:
        loop.call_soon_threadsafe(items.put_nowait, item)

    async def played() -> Player:
        try:
            return await play(show)
        finally:
            show(None)

    playing = asyncio.create_task(played())
    await view.watch(items)
    return await playing


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
