"""``slowcat-memory backup`` and ``restore``: a copy to fall back on, and the way back."""

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
            help="Where to; it must not exist. By default in the store's folder.",
            dir_okay=False,
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a backup, also while an agent talks.

    Every record of it is read once before it counts. Backups in the store's folder are few (the
    newest [bold]store.backups_keep[/]), and go when something is forgotten: they would still hold
    it. One elsewhere is yours to delete; [bold]restore[/] leaves out what was forgotten since.

    Example: [bold]slowcat-memory backup /media/stick/memory.mdb[/]
    """
    from slowcat_memory.store import Store

    config = settings(ctx).config
    with waiting("copying, and reading the copy"):
        with Store.open(config.folder, readonly=True, options=config.store) as store:
            made = store.backup(file.expanduser().absolute() if file else None)
    size = made.stat().st_size
    if as_json:
        return print_json({"file": str(made), "bytes": size})
    out().print(f"[green]✓[/] {size / 1e6:.1f} MB, read back whole:", end=" ")
    out().print(str(made), markup=False, soft_wrap=True)
    return None


def restore(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(help="A backup, or a copy of a store's folder.")],
    discard: Annotated[
        bool, typer.Option("--discard", help="Keep nothing of what is there now.")
    ] = False,
    other: Annotated[
        bool,
        typer.Option("--other", help="Take another memory's backup in the place of this one."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Go back to a backup. What was forgotten since stays forgotten.

    What was said since is put aside with the store's present file, and deleted with it at the next
    forgetting. What somebody ordered to forget and could still have undone is forgotten for good.
    Stop the agent first.

    Example: [bold]slowcat-memory restore /media/stick/memory.mdb[/]
    """
    from slowcat_memory.store import restore as put_back

    config = settings(ctx).config
    if not file.expanduser().exists():
        raise StoreError(f"there is no backup {file}", hint="Check the path.")
    if not yes and (config.folder / "data.mdb").exists():
        typer.confirm(
            f"Put {file} in the place of the memory in {config.folder}?", abort=True, err=True
        )
    with waiting("restoring") as told:
        done = put_back(
            config.folder,
            file.expanduser().absolute(),
            keep=not discard,
            foreign=other,
            options=config.store,
            told=told,
        )
    shutil.rmtree(config.folder / "index", ignore_errors=True)  # it was of what is gone
    if as_json:
        return print_json(done)
    _tell(done, file)
    return None


def _tell(done: "Restored", file: Path) -> None:
    out().print(f"[green]✓[/] Restored: {count(done.events, 'event')} in the log.")
    if done.forgotten:
        held = count(done.forgotten, "memory")
        warn(f"{held} had been forgotten since and did not come back. {file} still holds them.")
    if done.aside:
        out().print("What was there before is in", str(done.aside), markup=False, soft_wrap=True)
