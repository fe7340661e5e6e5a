"""``slowcat-memory export``: write the log, the facts or the summaries to a file."""

import gzip
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from slowcat_memory.cli.shared.exits import usage
from slowcat_memory.cli.shared.output import count, err, printable
from slowcat_memory.cli.shared.settings import Scope, settings

if TYPE_CHECKING:
    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.transfer.fact_files import Drafting


def export(
    ctx: typer.Context,
    to: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="The file; .gz and .zst are compressed.",
            dir_okay=False,
        ),
    ] = None,
    facts: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Write the facts instead: a file for each day, and an index.",
            file_okay=False,
        ),
    ] = None,
    summaries: Annotated[
        bool, typer.Option("--summaries", help="Write the summaries as text instead.")
    ] = False,
    scope: Scope = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Overwrite the file without asking.")
    ] = False,
) -> None:
    """Write turns and notes as JSON lines that [bold]import[/] reads back.

    Exports everybody but guests; --user exports one person. Derived data is left out, because it is
    computed again after an import. Only you can read the file; an existing one is overwritten only
    after a question.

    Examples: [bold]slowcat-memory export -o memory.jsonl.zst[/],
    [bold]slowcat-memory export --scope anna | jq -r .text[/],
    [bold]slowcat-memory export --facts facts[/], [bold]slowcat-memory export --summaries[/]
    """
    from slowcat_memory import transfer
    from slowcat_memory.runtime.conversation.audience import guest_scope

    if facts and to:
        raise usage("give --out or --facts")
    known = settings(ctx).existing()
    only = known.scope(scope) if scope or known.user else ""
    if facts:
        return _facts(ctx, facts, only)
    if to and to.exists() and not yes:
        typer.confirm(f"{to} exists. Overwrite it?", abort=True, err=True)
    lines = 0
    with (
        known.engine(readonly=True, words_only=True) as engine,
        _sink(to, engine) as sink,
    ):
        guest = guest_scope(engine.config.people)
        with engine.snapshot() as snapshot:
            if summaries:
                for text in transfer.export_summaries(snapshot, only, guest):
                    sink.write(f"{printable(text)}\n\n".encode())
                    lines += text.count("\n") + 2
            for line in () if summaries else transfer.export(snapshot, only, but=guest):
                sink.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
                lines += 1
    if to:
        err().print(f"[green]✓[/] {count(lines, 'line')} in {to}", soft_wrap=True)
    return None


def _facts(ctx: typer.Context, folder: Path, only: str) -> None:
    from slowcat_memory.runtime.conversation.audience import guest_scope
    from slowcat_memory.transfer.fact_files import export_facts

    with settings(ctx).engine(readonly=True, words_only=True) as engine:
        guests = guest_scope(engine.config.people)
        with engine.snapshot() as snapshot:
            scopes = [only] if only else [name for name in snapshot.scopes() if name != guests]
            written = export_facts(snapshot, folder, scopes, engine.zone, _drafting(engine))
    err().print(f"[green]✓[/] {count(written, 'fact')} in {folder}", soft_wrap=True)


def _drafting(engine: "MemoryEngine") -> "Drafting":
    """Return what gives an export its name, unless something was forgotten meanwhile."""
    from slowcat_memory.store import drafting

    def epoch() -> int:
        with engine.snapshot() as snapshot:
            return snapshot.settled_epoch()

    return partial(drafting, engine.config.folder, epoch)


@contextmanager
def _sink(to: Path | None, engine: "MemoryEngine") -> Iterator[IO[bytes]]:
    """Open the output; a file gets its name only when it is complete."""
    if to is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    unfinished = to.with_name(f".{to.name}.unfinished")
    with _drafting(engine)(unfinished, to):
        fd = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(fd, "wb") as file:
            with _packed(file, to.suffix) as sink:
                yield sink
            file.flush()
            os.fsync(file.fileno())


@contextmanager
def _packed(file: IO[bytes], suffix: str) -> Iterator[IO[bytes]]:
    if suffix == ".gz":
        with gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as packed:
            yield packed  # type: ignore[misc]  # a file of bytes in all but name
    elif suffix == ".zst":
        import zstandard

        with zstandard.ZstdCompressor().stream_writer(file, closefd=False) as packer:
            yield packer
    else:
        yield file
