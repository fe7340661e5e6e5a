"""``slowcat-memory forget``: real deletion, after a preview."""

import re
from typing import TYPE_CHECKING, Annotated

import typer

from slowcat_memory.cli.change.forget_preview import print_done, print_preview, question
from slowcat_memory.cli.shared.dates import parse_time
from slowcat_memory.cli.shared.exits import NotFound, usage
from slowcat_memory.cli.shared.output import print_json
from slowcat_memory.cli.shared.settings import AsJson, Scope, Settings, memory_id, settings

if TYPE_CHECKING:
    from slowcat_memory.engine.memory import Memory
    from slowcat_memory.records import Forget

_ID = re.compile(r"[0-9]+|[a-z_]+/\S+")


def forget(
    ctx: typer.Context,
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[WHAT]...",
            help="Turns' numbers and memories' ids; or words: all that mentions them.",
            show_default=False,
        ),
    ] = None,
    ids: Annotated[
        list[str] | None,
        typer.Option("--id", help="A turn's number or a memory's id. May be repeated."),
    ] = None,
    since: Annotated[str | None, typer.Option(help="Said at or after this time.")] = None,
    until: Annotated[str | None, typer.Option(help="Said before this time.")] = None,
    speaker: Annotated[str | None, typer.Option(help="Said by this speaker.")] = None,
    session: Annotated[str | None, typer.Option(help="Said in this session.")] = None,
    scope: Scope = None,
    about: Annotated[
        str | None, typer.Option(help="All that mentions this: a name, or words in sequence.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Everything of everybody, or of --user.")
    ] = False,
    keep_backups: Annotated[
        bool,
        typer.Option(
            "--keep-backups", help="Rewrite the backups without it, instead of deleting them."
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask; for scripts.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete for good: turns, everything derived from them, and their bytes on disk.

    Shows a preview and asks first. If several conditions are given, all must match; without
    --user, in everybody's memory. Times are dates such as 2024-05-12 or "2024-05-12 18:30", or
    words such as yesterday or "last week". Backups in the store's own folder still hold it, so they
    are deleted too, or rewritten with [bold]--keep-backups[/]; delete those elsewhere yourself.

    Examples: [bold]slowcat-memory forget 17[/], [bold]slowcat-memory forget "my doctor"[/],
    [bold]slowcat-memory forget --since yesterday[/],
    [bold]slowcat-memory forget --speaker Anna --since 2024-05-01 --until 2024-06-01[/],
    [bold]slowcat-memory --user anna forget --all[/]
    """
    known = settings(ctx).existing()
    named, words = _named(what or [])
    ids = [*(ids or []), *named]
    about = _one_of(about, words)
    others = bool(ids or since or until or speaker or session)
    _check(about, others=others, everything=everything)
    where = known.scope(scope) if scope or known.user else ""
    with known.engine(words_only=True) as memory:
        if about is not None:
            order = _mentioning(memory, about, where)
        else:
            order = _selection(memory, ids, since, until, speaker, session, where, everything)
        preview = memory.forget(order, dry_run=True) if _says_something(order) else None
        if preview is None or not (preview.turns or preview.memories or everything):
            raise NotFound("no match, so nothing was deleted", hint=_search_hint(known, about))
        if not yes:
            print_preview(memory, preview)
            asked = question(memory.config.folder, keep_backups=keep_backups)
            typer.confirm(asked, abort=True, err=True)
        gone = memory.forget(order, keep_backups=keep_backups)
    return print_json(gone) if as_json else print_done(gone)


def _named(what: list[str]) -> tuple[list[str], str | None]:
    """Return the arguments as ids; or as words, when one of them is no id."""
    if all(_ID.fullmatch(one) for one in what):
        return what, None
    return [], " ".join(what)


def _one_of(about: str | None, words: str | None) -> str | None:
    if about is not None and words is not None:
        raise usage("give the words once: as an argument, or with --about")
    return words if about is None else about


def _check(about: str | None, *, others: bool, everything: bool) -> None:
    if about is not None:
        if others or everything:
            raise usage("words can only be combined with --user", "--about")
        if not about.strip(" .,!?"):
            raise usage("needs a word", "--about")
    elif everything and others:
        raise usage("can only be combined with --user", "--all")
    elif not (others or everything):
        raise usage(
            "say what: a turn's number, words, --since, --until, --speaker, --session, or --all"
        )


def _says_something(order: "Forget") -> bool:
    """Return whether an order has a condition: words that match nothing give none."""
    return any(
        (
            order.turns,
            order.memories,
            order.speaker,
            order.session,
            order.since,
            order.until,
            order.everything,
        )
    )


def _search_hint(known: Settings, about: str | None) -> str:
    if about is not None:
        return f'Words must match: `slowcat-memory search "{about}"` also finds by meaning'
    return "`slowcat-memory show --last 20` shows the numbers of turns"


def _selection(
    memory: "Memory",
    ids: list[str],
    since: str | None,
    until: str | None,
    speaker: str | None,
    session: str | None,
    scope: str,
    everything: bool,
) -> "Forget":
    from slowcat_memory.records import Forget

    now = memory.clock()
    return Forget(
        memories=tuple(memory_id(id_) for id_ in ids),
        since=parse_time(since, memory.zone, "--since", now=now),
        until=parse_time(until, memory.zone, "--until", now=now),
        speaker=speaker or "",
        session=session or "",
        scope=scope,
        everything=everything,
    )


def _mentioning(memory: "Memory", about: str, where: str) -> "Forget":
    """Return the order to delete all turns and memories that mention something, by words."""
    from slowcat_memory.core.commands.mentions import mentions
    from slowcat_memory.core.text.normalize import Tokenizer
    from slowcat_memory.records import Forget
    from slowcat_memory.runtime.commands.targets import mentioning

    test = mentions(about, Tokenizer(memory.config.memory.language))
    with memory.snapshot() as snapshot:
        found = [
            mentioning(snapshot, one, test) for one in ([where] if where else snapshot.scopes())
        ]
    return Forget(
        memories=tuple(id_ for memories, _ in found for id_ in memories),
        turns=tuple(id_ for _, turns in found for id_ in turns),
        scope=where,
    )
