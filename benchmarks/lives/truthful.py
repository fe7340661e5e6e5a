"""An LLM that answers the product's prompts truthfully, from the claims of the turns in them.

It knows of a turn what the life says that it states, and of no other. It copies quotes exactly,
counts days correctly, writes nothing of jokes, and names what is over.
"""

import csv
import re
from collections.abc import Callable, Iterable
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.lives.dates import MONTHS
from benchmarks.lives.model import EXCLUSIVE, Claim, Exchange, Life
from benchmarks.lives.truth import FACTUAL, carries
from slowcat_memory.core.text.normalize import neutralise
from slowcat_memory.errors import BadAnswerError
from slowcat_memory.providers import Prompt
from slowcat_memory.testing import ScriptedLLM

QUOTE_WORDS, MOST_LINES = 20, 12
_DAY = re.compile(r"\b(\d{4}-\d\d-\d\d)\b")
_LINE = re.compile(r"^\[(\d+)\] ([^:\n]*): (.*)$", re.M)
_ASKED = re.compile(r"turns ([\d, ]+)\.\s*$")
_PAIR = re.compile(r"^(\d+)\. (older|newer)(?: \([\d-]+\))?: (.*)$", re.M)
_FOUND = re.compile(r"^(\d+)\. [^,\n]*, [^:\n]*: (.*)$", re.M)
STATEMENTS = Path(__file__).parents[1] / "data" / "lives" / "statements.tsv"


def _table() -> dict[str, dict[str, str]]:
    """Read how a claim is said, and what it is as a fact, by its slot."""
    with STATEMENTS.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {row["slot"]: row for row in rows}


SLOTS = _table()


class TruthfulLLM(ScriptedLLM):
    """The LLM of a life."""

    def __init__(self, life: Life) -> None:
        super().__init__(_Script(life).answer, model="truthful@life", prompt_tokens=6000)


class _Script:
    """Answers prompts by the job that sends them."""

    def __init__(self, life: Life) -> None:
        self._life = life
        self._claims = {claim.id: claim for claim in life.claims}
        self._by_words = dict[str, list[tuple[date, Exchange]]]()
        for session in life.sessions:
            for turn in session.turns:
                said = (session.at.date(), turn)
                self._by_words.setdefault(neutralise(turn.user), []).append(said)
        self._jobs: dict[str, Callable[[Prompt], dict[str, Any]]] = {
            "facts": self._facts, "contextualize": self._describe,
            "merge": self._pairs, "blocks": self._lines, "rerank": self._grades,
        }  # fmt: skip

    def answer(self, prompt: Prompt) -> dict[str, Any] | Exception:
        if prompt.job in self._jobs:
            return self._jobs[prompt.job](prompt)
        if '"relationship"' in prompt.system:
            return self._summary(prompt)
        return BadAnswerError(f"no script for {prompt.job}")

    # ------------------------------------------------------------------ jobs

    def _facts(self, prompt: Prompt) -> dict[str, Any]:
        facts = [fact for id, one in self._asked(prompt) for fact in self._of(id, one)]
        return {"facts": facts, "entities": self._entities(prompt)}

    def _of(self, id: int, exchange: Exchange) -> Iterable[dict[str, Any]]:
        replaced = {self._claims[one].slot for one in exchange.says}
        for claim, over in self._stated(exchange):
            if over and claim.slot in replaced:
                continue
            day = (claim.ends if over and not claim.on else claim.on) or (
                claim.begins if exchange.when else None
            )
            yield {
                "turn": id, "type": type_of(claim, over),
                "subject": self._life.user if claim.subject == "user" else claim.subject,
                "predicate": SLOTS[claim.slot]["predicate"], "object": claim.value, "over": over,
                "content": self._sentence(claim, over), "quote": _quote(exchange.user, claim),
                "confidence": "high", "date": day.isoformat() if day else "",
            }  # fmt: skip

    def _entities(self, prompt: Prompt) -> list[dict[str, Any]]:
        found = dict[str, dict[str, Any]]()
        for _, exchange in self._asked(prompt):
            for claim, _ in self._stated(exchange):
                if kind := SLOTS[claim.slot]["entity"]:
                    found[claim.value] = {"name": claim.value, "type": kind}
                if claim.subject != "user":
                    found[claim.subject] = {"name": claim.subject, "type": "person"}
        return list(found.values())

    def _describe(self, prompt: Prompt) -> dict[str, Any]:
        turns = list[dict[str, Any]]()
        for id, exchange in self._asked(prompt, whole=True):
            told = self._sentences(exchange) if exchange else []
            context = " ".join(told)[:300] or (exchange.user if exchange else "")[:150]
            turns.append({"turn": id, "context": context, "questions": [], "notes": []})
        return {"turns": [one for one in turns if one["context"]]}

    def _pairs(self, prompt: Prompt) -> dict[str, Any]:
        pairs: dict[int, dict[str, str]] = {}
        for number, which, text in _PAIR.findall(prompt.user):
            pairs.setdefault(int(number), {})[which] = text
        return {
            "pairs": [
                {
                    "pair": number,
                    "same_fact": self._alike(one.get("older", ""), one.get("newer", "")),
                }
                for number, one in pairs.items()
            ]
        }

    def _lines(self, prompt: Prompt) -> dict[str, Any]:
        """Copy what holds, by the newest day of the record; it says nothing about the agent."""
        if prompt.user.endswith(("of persona.", "of self.")):
            return {"lines": []}
        rows = [text for _, _, text in _LINE.findall(prompt.user)]
        last = self._last_day(prompt.user)
        held = [self._held(text, last) for text in rows if not self._is_over(text, last)]
        return {"lines": list(dict.fromkeys(filter(None, held)))[-MOST_LINES:]}

    def _grades(self, prompt: Prompt) -> dict[str, Any]:
        head = prompt.user.partition("\nFound:")[0].partition(": ")[2]
        asked = self._exchange(head)
        wanted = set(asked.asks) if asked else set()
        grades = []
        for number, text in _FOUND.findall(prompt.user):
            exchange = self._exchange(text)
            states = bool(exchange and wanted & set(exchange.says))
            grades.append({"line": int(number), "grade": 2 if states else 0})
        return {"grades": grades}

    def _summary(self, prompt: Prompt) -> dict[str, Any]:
        told = self._told(prompt.user)
        rows = [text for _, _, text in _LINE.findall(prompt.user)]
        summaries = [text for text in rows if self._exchange(text) is None]
        text = " ".join((told or summaries or rows)[:6])
        return {"summary": text, "topics": [], "entities": [], "tone": "", "relationship": ""}

    # ------------------------------------------------------------------ what turns say

    def _asked(self, prompt: Prompt, whole: bool = False) -> list[tuple[int, Any]]:
        """Return the asked turns with their exchanges; ``whole`` includes those without claims."""
        asked = _ASKED.search(prompt.user)
        numbers = {int(one) for one in re.findall(r"\d+", asked[1])} if asked else set()
        day = _DAY.search(prompt.user)
        said = date.fromisoformat(day[1]) if day else None
        found = []
        for number, _, text in _LINE.findall(prompt.user):
            if int(number) in numbers:
                exchange = self._exchange(text, said)
                if whole or (exchange and exchange.kind in FACTUAL):
                    found.append((int(number), exchange))
        return found

    def _exchange(self, text: str, day: date | None = None) -> Exchange | None:
        known = self._by_words.get(text.strip(), [])
        same = [one for said, one in known if day is None or said == day]
        return next(iter(same or [one for _, one in known]), None)

    def _told(self, record: str) -> list[str]:
        """Return what the turns of a record say, a sentence for each claim."""
        day = _DAY.search(record)
        said = date.fromisoformat(day[1]) if day else None
        every = (self._exchange(text, said) for _, _, text in _LINE.findall(record))
        return list(dict.fromkeys(s for one in every if one for s in self._sentences(one)))

    def _sentences(self, exchange: Exchange) -> list[str]:
        if exchange.kind not in FACTUAL:
            return []
        return [self._sentence(claim, over) for claim, over in self._stated(exchange)]

    def _sentence(self, claim: Claim, over: bool) -> str:
        return sentence(claim, self._life.user, self._life.language, over)

    def _stated(self, exchange: Exchange) -> list[tuple[Claim, bool]]:
        """Return the claims that an exchange states, and those that it says are over."""
        holding = [self._claims[id] for id in exchange.says if id not in exchange.ends]
        moved = {claim.value for claim in holding}
        over = [c for id in exchange.ends if (c := self._claims[id]).value not in moved]
        return [*((claim, False) for claim in holding), *((claim, True) for claim in over)]

    # ------------------------------------------------------------------ what sentences say

    def _named(self, text: str, over: bool) -> list[Claim]:
        """Return the claims whose own sentence stands in a text, or the turn that states them."""
        exchange = self._exchange(text)
        if exchange is not None:
            return [self._claims[id] for id in (exchange.ends if over else exchange.says)]
        return [c for c in self._life.claims if self._sentence(c, over)[:-1] in text]

    def _is_over(self, text: str, on: date | None) -> bool:
        named = self._named(text, False)
        ended = [c for c in named if c.ends is not None and (on is None or c.ends <= on)]
        return bool(named) and len(ended) == len(named)

    def _held(self, text: str, on: date | None) -> str:
        """Return a text without its sentences on claims that are over."""
        for claim in self._named(text, over=False):
            if claim.ends is not None and (on is None or claim.ends <= on):
                text = text.replace(self._sentence(claim, False), "")
        return " ".join(text.split())

    def _alike(self, older: str, newer: str) -> bool:
        one = [*self._named(older, False), *self._named(older, True)]
        two = [*self._named(newer, False), *self._named(newer, True)]
        return any(
            a.subject == b.subject
            and a.slot == b.slot
            and (a.value == b.value or a.slot in EXCLUSIVE)
            for a in one
            for b in two
        )

    def _last_day(self, text: str) -> date | None:
        """Return the last day on which a turn of the life was said that a record could have."""
        found = [said for _, _, row in _LINE.findall(text) for said in self._said(row)]
        return max(found, default=None)

    def _said(self, text: str) -> list[date]:
        claims = self._named(text, False) + self._named(text, True)
        ids = {claim.id for claim in claims}
        return [
            said
            for rows in self._by_words.values()
            for said, turn in rows
            if ids & {*turn.says, *turn.ends}
        ]


def _quote(text: str, claim: Claim) -> str:
    """Return the sentence of a turn that carries a claim, as it stands there."""
    parts = re.split(r"(?<=[.!?])\s+", text)
    chosen = next((part for part in parts if carries(part, claim)), text)
    return " ".join(chosen.split()[:QUOTE_WORDS])


# -------------------------------------------------------------------- claims as sentences


def sentence(claim: Claim, who: str, language: str, over: bool = False) -> str:
    """Return a claim, or that it is over, as a sentence; dated events with their day."""
    column = ("english" if language == "en" else "german") + " over" * over
    value = claim.value.replace("my ", "the ")
    if claim.slot == "job" and language == "en":
        value = f"{'an' if value[0] in 'aeiou' else 'a'} {value}"
    name = who if claim.subject == "user" else claim.subject
    text = SLOTS[claim.slot][column].format(who=name, value=value)
    if claim.on and not over and claim.slot != "success":
        text = f"{text[:-1]} {_on(claim.on, language)}."
    return text


def type_of(claim: Claim, over: bool) -> str:
    """Return the type of a claim's fact: an open matter that is over is a completed task."""
    if claim.slot == "thread" and over:
        return "task_completed"
    return SLOTS[claim.slot]["type"]


def _on(day: date, language: str) -> str:
    if language == "en":
        return f"on {day.day} {MONTHS['en'][day.month - 1]} {day.year}"
    return f"am {day.day}. {MONTHS['de'][day.month - 1]} {day.year}"
