"""``slowcat-memory demo``: see it remember, in a few seconds, with nothing else installed."""

import asyncio
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from loguru import logger
from msgspec.structs import replace
from rich.console import Console
from rich.markup import escape

from slowcat_memory import providers
from slowcat_memory.cli.demo.script import STORY, USER
from slowcat_memory.cli.setup.model_servers import Server, choose_server
from slowcat_memory.cli.shared.output import err, out, print_json
from slowcat_memory.config import Config, build_options
from slowcat_memory.errors import ProviderError
from slowcat_memory.providers import EmbedderReport

if TYPE_CHECKING:
    from slowcat_memory.cli.demo.result import Played
    from slowcat_memory.cli.demo.view import View

_PARROT = "none: a parrot that quotes what memory puts before it"


def demo(
    llm_url: Annotated[
        str, typer.Option(help="Talk to your own server, such as http://127.0.0.1:1234/v1.")
    ] = "",
    model: Annotated[str, typer.Option(help="Its model; the first that it offers if none.")] = "",
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
    """Play a conversation of nine weeks, and see what is recalled for each turn.

    A real Pipecat pipeline without microphone and loudspeaker. Its store, in a
    temporary folder, is closed and opened again between the sessions. A parrot
    that quotes what memory gives it stands in for the LLM, unless you name one.

    Needs no network, unless the embedding model has to be downloaded. Ends with
    1 when a memory that must come back does not.

    Examples: [bold]slowcat-memory demo[/],
    [bold]slowcat-memory demo --llm-url http://127.0.0.1:1234/v1[/]
    """
    console = err() if as_json else out()
    server = choose_server(llm_url, allow_remote) if llm_url else None
    with _folder(path, keep) as folder:
        config, embedding = _ready(_config(folder, no_vectors), console)
        stage = _Stage(
            config=config,
            embedding=embedding,
            llm=f"{server.model(model)} at {server.url}" if server else _PARROT,
            store=f"{folder}{'' if path or keep else ', deleted now; --keep keeps it'}",
            server=server,
            model=model,
        )
        ok = stage.play(console, as_json)
    raise typer.Exit(0 if ok else 1)


@dataclass(frozen=True)
class _Stage:
    """All that a play needs, and how to name it."""

    config: Config
    embedding: str
    llm: str
    store: str
    server: Server | None
    model: str

    def play(self, out: Console, as_json: bool) -> bool:
        from slowcat_memory.cli.demo.result import summarise
        from slowcat_memory.cli.demo.view import View

        view = None if as_json else View(out)
        if view:
            view.title(self.llm, self.embedding)
        start = time.perf_counter()
        logger.disable("pipecat")  # an error ends the play, and is told once
        try:
            played = asyncio.run(self._play(view))
        finally:
            logger.enable("pipecat")
        result = summarise(
            played,
            vectors=self.config.embedding.kind != "none",
            own_llm=self.server is not None,
            seconds=time.perf_counter() - start,
        )
        if view:
            view.result(result, self.llm, self.embedding, self.store)
        else:
            whole = {"result": result, "played": played, "embedding": self.embedding}
            whole |= {"llm": self.llm, "store": self.store}
            print_json(whole)
        return result.ok

    async def _play(self, view: "View | None") -> "Played":
        from slowcat_memory.cli.demo.play import Play, scripted_reply
        from slowcat_memory.testing.server import ScriptedServer

        def play(url: str, model: str) -> Play:
            if view is None:
                return Play(self.config, url, model)
            return Play(self.config, url, model, on_evening=view.evening, on_turn=view.turn)

        if self.server:
            return await play(self.server.url, self.server.model(self.model)).run(STORY)
        async with ScriptedServer(scripted_reply(STORY)) as parrot:
            return await play(parrot.url, "parrot").run(STORY)


def _config(folder: Path, no_vectors: bool) -> Config:
    return build_options(
        {
            "memory": {"path": str(folder), "user_name": USER, "time_zone": "UTC"},
            # Far beyond what a recall takes: a slow one shows how slow, instead of being cut.
            "recall": {"deadline_ms": 200, "warn_ms": 200},
            "embedding": {"kind": "none" if no_vectors else "local"},
        }
    )


def _ready(config: Config, out: Console) -> tuple[Config, str]:
    """Get the embedding model ready, exporting it once if need be; go without if there is none."""
    if config.embedding.kind == "none":
        return config, "none, as you wish: words alone (BM25)"
    _, report = providers.open_query_embedder(config.embedding)
    try:
        if report.state == "needs export":
            report = _export(config, out)
        if report.state == "ready":
            return config, report.source
        why = f"{report.source}. {report.hint}"
    except ProviderError as error:
        why = str(error)
    without = replace(config, embedding=replace(config.embedding, kind="none"))
    return without, f"none, words alone (BM25): {why}"


def _export(config: Config, out: Console) -> EmbedderReport:
    _, report = providers.open_query_embedder(config.embedding)
    out.print(f"First run: making {report.source} ready, about 15 s, once.", markup=False)
    start = time.perf_counter()
    with out.status("starting") as status:
        providers.export_model(config.embedding, lambda step: status.update(escape(step)))
    out.print(f"Ready after {time.perf_counter() - start:.0f} s.", style="dim")
    return providers.open_query_embedder(config.embedding)[1]


@contextmanager
def _folder(path: Path | None, keep: bool) -> Iterator[Path]:
    """Yield the store's folder; a temporary one is deleted afterwards unless it is to be kept."""
    if path is not None:
        path = path.expanduser()
        if path.exists() and any(path.iterdir()):
            raise typer.BadParameter(f"{path} is not empty; the demo wants a new folder")
        yield path
        return
    folder = Path(tempfile.mkdtemp(prefix="slowcat-demo-"))
    try:
        yield folder
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
