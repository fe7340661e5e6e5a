"""``slowcat-memory backup`` and ``restore``: copy the store, and go back to a copy."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slowcat_memory.cli.shared.output import count, out, print_json, waiting, warn
from slowcat_memory.cli.shared.settings import AsJson, settings
from slowcat_memory.errors import StoreError

if TYPE_CHECKING:
    from slowcat_memory.store import Restored


def backup(
    ctx: typer.Context,
    file: Annotated[
        Path | None,
        typer.Argument(
            help="The new file; by default in the store's folder.",
            dir_okay=False,
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a backup.

    Every record of the copy is read once to check it. The store's folder keeps the newest
    [bold]store.backups_keep[/] backups and deletes them when something is forgotten, because they
    still hold it; forget --keep-backups rewrites them. Delete backups elsewhere yourself;
    [bold]restore[/] leaves out what was forgotten since.

    Example: [bold]slowcat-memory backup /media/stick/memory.mdb[/]
    """
    from slowcat_memory.store import Store

    config = settings(ctx).existing().config
    with waiting("copying and checking the copy"):
        with Store.open(config.folder, readonly=True, options=config.store) as store:
            made = store.backup(file.expanduser().absolute() if file else None)
    size = made.stat().st_size
    if as_json:
        return print_json({"file": str(made), "bytes": size})
    out().print(f"[green]✓[/] {size / 1e6:.1f} MB, checked:", end=" ")
    out().print(str(made), markup=False, soft_wrap=True)
    return None


def restore(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(help="A backup, or a copy of a store's folder.")],
    discard: Annotated[
        bool, typer.Option("--discard", help="Delete the present store instead of moving it aside.")
    ] = False,
    other: Annotated[
        bool,
        typer.Option("--other", help="Allow the backup of another memory."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Go back to a backup. What was forgotten since stays forgotten.

    The present store is moved aside with everything said since, and deleted at the next forget.
    A pending forget that could still be undone becomes final. An agent that runs closes the memory
    meanwhile, and opens it again.

    Example: [bold]slowcat-memory restore /media/stick/memory.mdb[/]
    """
    from slowcat_memory.owner import paused
    from slowcat_memory.store import restore as put_back

    config = settings(ctx).config
    if not file.expanduser().exists():
        raise StoreError(f"there is no backup {file}", hint="Check the path.")
    if not yes and (config.folder / "data.mdb").exists():
        typer.confirm(f"Replace the memory in {config.folder} with {file}?", abort=True, err=True)
    with paused(config.folder), waiting("restoring") as told:
        done = put_back(
            config.folder,
            file.expanduser().absolute(),
            keep=not discard,
            foreign=other,
            options=config.store,
            on_step=told,
        )
    shutil.rmtree(config.folder / "index", ignore_errors=True)  # built from the replaced store
    if as_json:
        return print_json(done)
    _print_done(done, file)
    return None


def _print_done(done: "Restored", file: Path) -> None:
    out().print(f"[green]✓[/] Restored: {count(done.events, 'event')} in the log.")
    if done.forgotten:
        kept_out = count(done.forgotten, "memory")
        warn(f"{kept_out} forgotten since did not come back. {file} still holds them.")
    if done.aside:
        out().print("What was there before is in", str(done.aside), markup=False, soft_wrap=True)
