"""``slowcat-memory hotwords``: names and rare words to give to speech recognition (STT)."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from slowcat_memory.cli.shared.exits import NotFound
from slowcat_memory.cli.shared.output import print_json, printable
from slowcat_memory.cli.shared.settings import Scope, nothing_in, settings

if TYPE_CHECKING:
    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.records import Hotword

PROMPT_TOKENS = 224  # Whisper reads no more of an initial prompt


class Format(StrEnum):
    """Output formats."""

    plain = "plain"
    json = "json"
    whisper = "whisper"


def hotwords(
    ctx: typer.Context,
    n: Annotated[int, typer.Option(help="How many words at most.", min=1, max=3000)] = 100,
    format: Annotated[
        Format,
        typer.Option(help="One word a line; JSON with weights; or a prompt for Whisper."),
    ] = Format.plain,
    local: Annotated[
        bool,
        typer.Option(help="Include words of local-only memories: the STT runs on this machine."),
    ] = False,
    scope: Scope = None,
) -> None:
    """List the names in a memory, and the rare words it uses often.

    They help speech recognition spell names: pass the prompt to
    Whisper as its initial prompt, or the words to an STT service that takes a word list.

    Example: [bold]slowcat-memory hotwords --n 50 --format whisper[/]
    """
    known = settings(ctx)
    where = known.scope(scope)
    with known.engine(readonly=True, words_only=True) as engine:
        found = engine.hotwords(where, n, local=local)
        if not found and format is not Format.json:
            raise NotFound(_why_none(engine, where))
    if format is Format.json:
        return print_json(found)
    words = _prompt(found) if format is Format.whisper else "\n".join(one.word for one in found)
    print(printable(words))
    return None


def _why_none(engine: "MemoryEngine", scope: str) -> str:
    with engine.snapshot() as snapshot:
        known = scope in snapshot.scopes()
    return f"No names in the scope {scope} yet." if known else nothing_in(engine, scope)


def _prompt(found: "list[Hotword]") -> str:
    """Return the words that fit into a prompt; Whisper reads its end, so the heaviest come last."""
    from slowcat_memory.core.text.normalize import estimate_tokens

    kept: list[str] = []
    used = 0
    for one in found:
        used += estimate_tokens(f"{one.word},") + 1
        if used > PROMPT_TOKENS:
            break
        kept.append(one.word)
    return f"{', '.join(reversed(kept))}."
