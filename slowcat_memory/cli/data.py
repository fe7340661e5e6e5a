"""``slowcat-memory backup``, ``restore`` and ``export``: copies of a memory, and files made of it."""

import gzip
import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from slowcat_memory.cli.output import count, size, usage, waiting, warn
from slowcat_memory.cli.settings import Yes, settings, takes
from slowcat_memory.errors import StoreError

if TYPE_CHECKING:
    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.transfer.fact_files import Drafting


@takes("as_json")
def backup(
    ctx: typer.Context,
    file: Annotated[
        Path | None,
        typer.Argument(help="The new file; by default in the store's folder.", dir_okay=False),
    ] = None,
) -> None:
    """Make a backup.

    Every record of the copy is read once to check it. The store's folder keeps the newest
    [bold]store.backups_keep[/] backups and deletes them when something is forgotten, because they
    still hold it; forget --keep-backups rewrites them. Delete backups elsewhere yourself;
    [bold]restore[/] leaves out what was forgotten since.

    Example: [bold]slowcat-memory backup /media/stick/memory.mdb[/]
    """
    from slowcat_memory.store import Store

    known = settings(ctx).existing()
    config = known.config
    with waiting("copying and checking the copy"):
        with Store.open(config.folder, readonly=True, options=config.store) as store:
            made = store.backup(file.expanduser().absolute() if file else None)
    bytes_ = made.stat().st_size
    known.report({"file": str(made), "bytes": bytes_}, f"{size(bytes_)}, checked:", str(made))


@takes("as_json")
def restore(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(help="A backup, or a copy of a store's folder.")],
    other: Annotated[
        bool, typer.Option("--other", help="Allow the backup of another memory.")
    ] = False,
    yes: Yes = False,
) -> None:
    """Go back to a backup. A text that was forgotten since stays forgotten.

    The present store is moved aside with everything said since, and deleted at the next forget.
    A pending forget that could still be undone becomes final. An agent that runs goes on with the
    restored memory.

    Example: [bold]slowcat-memory restore /media/stick/memory.mdb[/]
    """
    from slowcat_memory.store import data_file, restore

    known, file = settings(ctx), file.expanduser()
    config = known.config
    if not file.exists():
        raise StoreError(f"there is no backup {file}", hint="Check the path.")
    if not yes and data_file(config.folder).exists():
        typer.confirm(f"Replace the memory in {config.folder} with {file}?", abort=True, err=True)
    with waiting("restoring") as step:
        restored = restore(
            config.folder,
            file.absolute(),
            foreign=other,
            options=config.store,
            on_step=step,
        )
    shutil.rmtree(config.folder / "index", ignore_errors=True)  # built from the replaced store
    known.report(restored, f"Restored: {count(restored.events, 'event')} in the log.")
    if restored.forgotten:
        warn(f"{count(restored.forgotten, 'memory')} forgotten since did not come back.")
        warn(f"{file} still holds them.")
    if restored.aside:
        warn(f"The memory before is in {restored.aside}")


@takes("user")
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
    yes: Yes = False,
) -> None:
    """Write turns and notes as JSON lines that [bold]import[/] reads back.

    Exports everybody but guests; --user exports one person. Derived data is left out, because it is
    computed again after an import. Only you can read the file; an existing one is overwritten only
    after a question.

    Examples: [bold]slowcat-memory export -o memory.jsonl.zst[/],
    [bold]slowcat-memory export --scope anna | jq -r .text[/],
    [bold]slowcat-memory export --facts facts[/]
    """
    from slowcat_memory import transfer
    from slowcat_memory.runtime.conversation.audience import guest_scope
    from slowcat_memory.transfer.fact_files import export_facts

    if facts and to:
        raise usage("give --out or --facts")
    known = settings(ctx).existing()
    only = known.scope() if known.user else ""
    if to and to.exists() and not yes:
        typer.confirm(f"{to} exists. Overwrite it?", abort=True, err=True)
    with known.readonly(words_only=True) as engine:
        guest = guest_scope(engine.config.people)
        if facts:
            with engine.snapshot() as snapshot:
                scopes = [only] if only else [name for name in snapshot.scopes() if name != guest]
                written = export_facts(snapshot, facts, scopes, engine.zone, _drafting(engine))
            return warn(f"{count(written, 'fact')} in {facts}")
        with _sink(to, engine) as sink:
            rows = transfer.export_in_parts(engine.snapshot, only, but=guest)
            lines = (json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)
            written = sum(map(bool, map(sink.write, lines)))
    if to:
        warn(f"{count(written, 'line')} in {to}")


def _drafting(engine: "MemoryEngine") -> "Drafting":
    """Return what gives an export its name, unless something was forgotten meanwhile."""
    from slowcat_memory.store import drafting

    return partial(drafting, engine.config.folder, engine.snapshot)


@contextmanager
def _sink(to: Path | None, engine: "MemoryEngine") -> Iterator[IO[bytes]]:
    """Open the output; a file gets its name only when it is complete."""
    if to is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    from slowcat_memory.transfer.fact_files import private_file

    with private_file(to, _drafting(engine)) as file, _packed(file, to.suffix) as sink:
        yield sink


def _packed(file: IO[bytes], suffix: str) -> Any:
    if suffix == ".gz":
        return gzip.GzipFile(fileobj=file, mode="wb", mtime=0)
    if suffix == ".zst":
        import zstandard

        return zstandard.ZstdCompressor().stream_writer(file, closefd=False)
    return nullcontext(file)
