"""Shows the demo on a terminal: each session and turn while it is played, and the sum at the end."""

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from slowcat_memory.cli.demo.result import LIMIT_MS, Opened, PlayedTurn, Recalled, Result
from slowcat_memory.cli.demo.script import USER

_WIDTH = 96  # wider lines are harder to read
_SLOW = (
    "The demo lets a slow recall finish, to show how slow it is. An agent waits 10 ms and then "
    "takes what is found by words; is this machine busy with something else?"
)
_SHOWN = 2  # memories of a turn: the best, and the expected one


class View:
    """Prints as the play goes on."""

    def __init__(self, console: Console) -> None:
        """Choose the terminal.

        Args:
            console: Where to print; lines are kept to what reads well.
        """
        self._out = console
        console.width = min(console.width, _WIDTH)

    def title(self, llm: str, embedding: str) -> None:
        """Say what is about to be shown."""
        self._out.print()
        self._out.print(
            Text.assemble(
                ("slowcat-memory demo", "bold"),
                f"   {USER} talks to a voice agent, which forgets nothing.",
            )
        )
        self._pairs(
            [
                ("LLM", llm),
                ("Embedding", embedding),
                (
                    "↳",
                    "recalled for the turn: date, speaker, words, score, ✓ the one needed",
                ),
            ]
        )

    def evening(self, opened: Opened) -> None:
        """Begin a session."""
        when = f"{opened.at:%a} {opened.at.day} {opened.at:%b, %H:%M}"
        later = f", {opened.days} days later" if opened.days else ""
        store = f"store reopened: {opened.turns} turns" if opened.turns else "new store"
        head = Text.assemble(
            (f"Session {opened.number}", "bold cyan"),
            f"  {when}{later}  ",
            (f"({store}, {opened.open_ms:.0f} ms)", "dim"),
        )
        self._out.print()
        self._out.rule(head, align="left", style="cyan")

    def turn(self, turn: PlayedTurn) -> None:
        """Show one exchange."""
        rows = Table.grid(padding=(0, 1), expand=True)
        rows.add_column(width=7, justify="right", no_wrap=True)
        rows.add_column(ratio=1)
        rows.add_column(width=7, justify="right", no_wrap=True)
        rows.add_column(width=1)
        slow = "bold red" if turn.ms > LIMIT_MS else "dim"
        rows.add_row(Text(USER, "bold green"), turn.line.text, Text(f"{turn.ms:.1f} ms", slow))
        for memory in _shown(turn.recalled):
            rows.add_row("", *_memory(memory))
        if remark := _remark(turn):
            rows.add_row("", Text(remark, "dim"))
        rows.add_row(Text("Agent", "bold magenta"), Text(turn.reply))
        self._out.print(rows)

    def result(self, result: Result, llm: str, embedding: str, store: str) -> None:
        """Show the sum.

        Args:
            store: Where the store is, or what became of it.
        """
        self._out.print()
        self._out.rule(Text("Summary", "bold"), align="left")
        self._pairs([*_sums(result), ("Embedding", embedding), ("LLM", llm), ("Store", store)])
        if result.slow:
            self._out.print(Padding(Text(_SLOW, "yellow"), (1, 2, 0, 2)))
        self._out.print(Padding(_verdict(result), (1, 2, 0, 2)))
        self._out.print()

    def _pairs(self, pairs: list[tuple[str, str]]) -> None:
        table = Table.grid(padding=(0, 2))
        table.add_column(width=12, justify="right", style="dim", no_wrap=True)
        table.add_column()
        for name, value in pairs:
            table.add_row(name, Text(value))
        self._out.print(table)


def _shown(recalled: list[Recalled]) -> list[Recalled]:
    """Return the best memories; an expected one that came later takes the place of the last."""
    shown = recalled[:_SHOWN]
    expected = [memory for memory in recalled if memory.expected]
    return shown if not expected or expected[0] in shown else [*shown[: _SHOWN - 1], *expected]


def _memory(memory: Recalled) -> tuple[Text, Text, Text]:
    when = f"{memory.at.day} {memory.at:%b}"
    colour = "green" if memory.expected else "yellow"
    line = Text(f"↳ {when}, {memory.who}: {memory.text}", colour, no_wrap=True, overflow="ellipsis")
    return line, Text(f"{memory.score:.2f}", colour), Text("✓" if memory.expected else "", colour)


def _remark(turn: PlayedTurn) -> str:
    more = len(turn.recalled) - _SHOWN
    if turn.found and not any(memory.expected for memory in turn.recalled):
        return "↳ what it needs stands in this conversation already"
    if turn.found is False:
        return "↳ the memory that the script waits for did not come"
    if more > 0:
        return f"↳ and {more} more"
    return "↳ nothing" if turn.line.unknown and not turn.recalled else ""


def _verdict(result: Result) -> Text:
    if not result.ok:
        return Text("It did not recall everything that it must.", "bold red")
    verdict = Text("It remembers.", "bold green")
    if not result.vectors:
        verdict.append(" Without a model only what shares words with the question.", "not bold")
    return verdict


def _sums(result: Result) -> list[tuple[str, str]]:
    ms = result.recall_ms
    slow = f"; {result.slow} above {LIMIT_MS:.0f} ms" if result.slow else ""
    return [
        (
            "Sessions",
            f"{result.sessions} in {result.days} days, store closed and reopened in between",
        ),
        ("Stored", f"{result.turns_stored} turns"),
        (
            "Recalls",
            f"{result.recalls}, p50 {ms['p50']:.1f} ms, p95 {ms['p95']:.1f} ms, "
            f"max {ms['max']:.1f} ms{slow}",
        ),
        (
            "Questions",
            f"{result.found} of {result.questions} brought back what answers them "
            f"({result.paraphrased_found} of {result.paraphrased} in other words)",
        ),
        (
            "Never said",
            f"{result.unknown_admitted} of {result.unknown} such questions rightly left unanswered",
        ),
        ("Block", f"{result.block_tokens:.0f} tokens on average, when there is one"),
    ]
