"""The demo on a terminal: at a reading pace, at most 80 columns wide."""

import asyncio
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from slowcat_memory.cli.demo.play import Exchange, Item, Night, Recalled, Session, Then
from slowcat_memory.cli.demo.script import USER

WIDTH = 80
_NAME = 8  # columns of a speaker's name
WORD_S, PART_S = 0.16, 0.5  # reading time of a word, and of looking at a part
_FACTS = 6  # facts shown of a night
LIKELY = 0.5  # from here on, what is recalled for a statement is shown too

_INTRO = (
    f"{USER} talks to a voice agent, on five days in nine weeks. After each conversation the "
    "program ends; only the memory on disk remains. ↳ is what the memory puts into the prompt."
)
_NEXT = (
    ("slowcat-memory init", "a configuration and a memory of your own"),
    ("slowcat-memory chat", "talk to it, with a local LLM server"),
    ("slowcat-memory import chat.txt", "bring your old conversations"),
    ("slowcat-memory --help", "search, facts, why, forget, …"),
)


class View:
    """Prints the demo, part by part."""

    def __init__(self, console: Console, *, paced: bool = False) -> None:
        """Set the console; ``paced`` waits after each part as long as reading it takes."""
        console.width = min(console.width, WIDTH)
        self._out, self._paced = console, paced

    def title(self, about: dict[str, str]) -> None:
        """Print what will be shown, and with which models."""
        self._out.print()
        self._out.print(Text("slowcat-memory demo", "bold"))
        self._out.print(_INTRO, markup=False)
        self._out.print(Text(f"LLM: {about['llm']}", "dim"))
        self._out.print(Text(f"Embedding: {about['embedding']}", "dim"))
        if self._paced:
            self._out.print(Text("It takes two minutes; Ctrl-C ends it, --fast hurries.", "dim"))

    async def watch(self, items: "asyncio.Queue[Item | None]") -> None:
        """Show items as they come, until None."""
        while (item := await items.get()) is not None:
            for part, words in _parts(item):
                self._out.print(part)
                if self._paced:
                    await asyncio.sleep(PART_S + WORD_S * words)

    def result(self, sums: dict[str, Any], about: dict[str, str]) -> None:
        """Print what was counted, the verdict, and what to do next."""
        self._heading("What came back")
        for line in _counted(sums):
            self._out.print(Text(f"  {line}"))
        self._out.print(Text(f"  Store: {about['store']}", "dim"), soft_wrap=True)
        self._out.print()
        self._out.print(_verdict(sums))
        if sums["ok"]:
            self._next()

    def _next(self) -> None:
        self._heading("Next")
        made = Table.grid(padding=(0, 2))
        for command, meaning in _NEXT:
            made.add_row(Text(f"  {command}", "bold"), meaning)
        self._out.print(made)
        self._out.print()

    def _heading(self, text: str) -> None:
        self._out.print()
        self._out.rule(Text(text, "bold"), align="left")


def _parts(item: Item) -> Iterator[tuple[Any, int]]:
    """Return what to print one after the other, each with its number of words."""
    if isinstance(item, Session):
        yield from _session(item)
    elif isinstance(item, Exchange):
        yield from _exchange(item)
    elif isinstance(item, Night):
        yield from _night(item)
    else:
        yield from _then(item)


def _session(item: Session) -> Iterator[tuple[Any, int]]:
    later = f", {item.days} days later" if item.days else ""
    stored = f" · {item.turns} turns on disk" if item.turns else ""
    yield _rule(f"{_day(item.at, weekday=True)}{later}{stored}"), 4


def _exchange(one: Exchange) -> Iterator[tuple[Any, int]]:
    yield _said(USER, "bold green", one.line.text), len(one.line.text.split())
    for memory in _shown(one):
        yield _recalled(memory), len(memory.text.split()) // 2
    if remark := _remark(one):
        yield _beneath(Text(remark, "dim")), 4
    yield _said("Agent", "bold magenta", one.reply), len(one.reply.split())


def _night(item: Night) -> Iterator[tuple[Any, int]]:
    yield _rule("That night, while nobody speaks"), 4
    about = "Facts are drawn from what was said, here by rules, without an LLM:"
    yield Text(about, "dim"), 10
    ended = [one for one in item.facts if one.until]
    current = [one for one in item.facts if not one.until]
    for one in (*current[: _FACTS - len(ended)], *ended):
        begun = _day(one.since)
        dates = f" ({begun} to {_day(one.until)})" if one.until else f" (since {begun})"
        yield (
            _row(Text("•", "cyan"), Text.assemble(one.text, (dates, "dim"))),
            len(one.text.split()),
        )


def _then(item: Then) -> Iterator[tuple[Any, int]]:
    if item.first:
        yield _rule("What was true when?"), 4
    yield Text.assemble((f"  {_day(item.at):<9}", "bold"), item.facts or "nothing known"), 10


def _rule(text: str) -> Any:
    from rich.console import Group
    from rich.rule import Rule

    return Group(Text(), Rule(Text(text, "bold cyan"), align="left", style="cyan"))


def _said(name: str, style: str, text: str) -> Table:
    return _row(Text(name, style), Text(text))


def _beneath(text: Text) -> Table:
    return _row(Text(), text)


def _row(name: Text, *cells: Text) -> Table:
    rows = Table.grid(padding=(0, 1), expand=len(cells) > 1)
    rows.add_column(width=_NAME, justify="right", no_wrap=True)
    rows.add_column(ratio=1)
    rows.add_row(name, *cells)
    return rows


def _recalled(memory: Recalled) -> Table:
    who = "" if memory.speaker == USER else " Agent:"
    words = f"↳ {_day(memory.at)},{who} “{memory.text}”"
    shown = Text(words, "cyan", no_wrap=True, overflow="ellipsis")
    return _row(Text(), shown, Text("✓" if memory.expected else "", "green"))


def _shown(one: Exchange) -> list[Recalled]:
    """Return the memory that answers; for a statement, the best one if it is likely."""
    expected = [memory for memory in one.recalled if memory.expected]
    likely = [memory for memory in one.recalled if memory.likely >= LIKELY]
    return expected or likely[:1]


def _remark(one: Exchange) -> str:
    if one.line.command:
        return "a voice command: the memory answers, without the LLM"
    if one.found and not any(memory.expected for memory in one.recalled):
        return "↳ the memory needed is in this conversation already"
    if one.found is False:
        return "↳ the expected memory did not come"
    return "↳ nothing" if one.line.unknown and not one.recalled else ""


def _counted(sums: dict[str, Any]) -> Iterator[str]:
    yield (
        f"{sums['found']} of {sums['questions']} questions got the right memory; "
        f"{sums['paraphrased_found']} of {sums['paraphrased']} share no word with it."
    )
    yield (
        f"{sums['unknown_admitted']} of {sums['unknown']} questions about what was never said, or "
        "is forgotten, got none."
    )
    yield f"{sums['turns_stored']} turns in {sums['sessions']} conversations over {sums['days']} days."
    yield f"A turn waited {sums['recall_ms']['p50']:.1f} ms for its memories (median)."


def _verdict(sums: dict[str, Any]) -> Text:
    if not sums["ok"]:
        return Text("A memory that must come back did not.", "bold red")
    verdict = Text("It remembers.", "bold green")
    if not sums["vectors"]:
        verdict.append(" Without an embedding model, only by shared words.", "not bold default")
    return verdict


def _day(at: datetime, *, weekday: bool = False) -> str:
    return f"{at:%A} {at.day} {at:%B}" if weekday else f"{at.day} {at:%B}"
