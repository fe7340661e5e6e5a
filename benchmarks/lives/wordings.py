"""The wordings of simulated lives: sentences by kind of event, time expressions and values.

Rows of a list alternate between the halves "tuned" and "held out". Who changes a rule may read the
tuned ones, and prints them with ``python -m benchmarks.lives.wordings en``.
"""

import random
import sys
import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, convert

Half = Literal["tuned", "held out"]
Language = Literal["en", "de"]
FOLDER = Path(__file__).parents[1] / "data" / "lives"
FILES = {"en": "english.toml", "de": "german.toml"}
SHARED = frozenset(  # the plainest words of time, without which no half can date anything
    {"today", "yesterday", "tomorrow", "on {weekday}", "on {month} {ordinal}", "in two weeks"}
    | {"heute", "gestern", "morgen", "am {weekday}", "am {number}. {month}", "in zwei Wochen"}
)


class TimeWords(Struct, frozen=True, rename={"first": "from", "last": "to", "kind": "class"}):
    """A time expression, with the days from the day of speaking that it can name.

    Attributes:
        text: With slots for the parts of the date.
        days: The only day, if it names one.
        first: First day of a range.
        last: Last day of a range.
        kind: "weekday", "date", "tomorrow" or "weeks"; "" for the past.
        past: Whether an expression for today looks back; None for either.
        next_week: It names a weekday of the next calendar week.
    """

    text: str
    days: int | None = None
    first: int = 0
    last: int = 0
    kind: str = ""
    past: bool | None = None
    next_week: bool = False

    def looks(self, past: bool) -> bool:
        """Return whether it can name a day of the past, or of the future, today included."""
        if self.days == 0:
            return self.past is None or self.past is past
        return not self.next_week and self._least < 0 if past else self._least > 0

    @property
    def _least(self) -> int:
        return 1 if self.next_week else self.first if self.days is None else self.days


class Wordings(Struct, frozen=True):
    """One half of a language's wordings.

    Attributes:
        sentences: By kind of event; each with its id.
        times: Time expressions.
        values: Lists of plain values by name.
        tables: Values with several forms, by name.
    """

    language: Language
    half: Half
    sentences: dict[str, tuple[tuple[str, str], ...]]
    times: tuple[TimeWords, ...]
    values: dict[str, tuple[str, ...]]
    tables: dict[str, tuple[dict[str, Any], ...]]

    def pick(self, kind: str, rng: random.Random) -> tuple[str, str]:
        """Return the id and the text of a wording of a kind."""
        return rng.choice(self.sentences[kind])


def halved(rows: Sequence[Any], half: Half) -> list[Any]:
    """Return every second row, from the first for "tuned"."""
    return list(rows[half != "tuned" :: 2])


@cache
def wordings(language: Language, half: Half) -> Wordings:
    """Read one half of a language's wordings."""
    read = tomllib.loads((FOLDER / FILES[language]).read_text(encoding="utf-8"))
    sentences = {
        kind: tuple((f"{kind}/{n}", text) for n, text in halved(list(enumerate(rows)), half))
        for kind, rows in read.pop("wordings").items()
    }
    times = read.pop("when")
    chosen = [*halved(times, half), *(one for one in times if one["text"] in SHARED)]
    values = {name: tuple(halved(rows, half)) for name, rows in read.pop("values").items()}
    return Wordings(
        language=language,
        half=half,
        sentences=sentences,
        times=tuple(dict.fromkeys(convert(one, TimeWords) for one in chosen)),
        values=values,
        tables={name: tuple(halved(rows, half)) for name, rows in read.items()},
    )


def main() -> None:
    """Print the tuned half of a language."""
    shown = wordings("de" if "de" in sys.argv[1:] else "en", "tuned")
    for kind, rows in shown.sentences.items():
        print(f"\n{kind}")
        for _, text in rows:
            print(f"  {text}")
    print("\ntimes\n  " + "\n  ".join(one.text for one in shown.times))


if __name__ == "__main__":
    main()
