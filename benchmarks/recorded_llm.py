"""Answers the product's prompts with what a language model wrote about the data once: no model runs.

A `Replier` stands behind a local server in the place of a model. It knows a job by its prompt's system
message, finds which turns are asked about, asks whose they are in the data, and writes down what was
written about them, as a model would answer: so the text passes through the product's own client,
parser and checks, store and index.

What was written comes in two forms. ``llm_notes.jsonl.gz``: one line a session with
``conversation_id``, ``contexts`` (a text by turn id), ``questions`` (a list by turn id), ``entities``,
``relations`` (subject, predicate, object, turn) and ``facts`` with quotes, which `statements` joins. ``llm_outputs.jsonl.gz``: one
line a text; those with ``source_turn_ids`` are notes about these turns, where the heading 【…】 of some is
the data set's own grouping and no part of the note. A turn without either is answered by nothing.
"""

import asyncio
import json
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from benchmarks import datasets
from slowcat_memory.core.extraction import descriptions
from slowcat_memory.core.extraction.predicates import sentence
from slowcat_memory.core.facts import merging
from slowcat_memory.core.facts import prompt as fact_prompt
from slowcat_memory.core.summaries import prompt as summary_prompt
from slowcat_memory.core.text.normalize import fingerprint
from slowcat_memory.testing.server import Failure, ScriptedServer
from slowcat_memory.testing.server import Replier as Reply

NOTES, OUTPUTS = "llm_notes.jsonl.gz", "llm_outputs.jsonl.gz"
_HEADING = re.compile(r"^【[^】]*】\s*")
_TURN = re.compile(r"^\[(\d+)\] ", re.M)
_FACTS = fact_prompt.SYSTEM.partition("<types>")[0]
_ASKED = re.compile(r"^Write about the turns ([\d, ]+)\.$", re.M)
_ASKED_FACTS = re.compile(r"^Write the facts of the turns ([\d, ]+)\.$", re.M)


class Recorded(Struct, frozen=True):
    """What was written about turns, by turn id.

    Attributes:
        contexts: What places a turn.
        questions: What it answers.
        notes: What it tells.
        noted: Conversations of which every turn has a text.
        facts: Facts that a turn says, as they were written down.
        sessions: Summary, topics, entities, tone and relationship of the session that a turn is of.
        entities: Who is mentioned in the session of a turn.
        relations: What a turn says of them.
    """

    contexts: dict[str, str]
    questions: dict[str, list[str]]
    notes: dict[str, list[str]]
    noted: frozenset[str]
    facts: dict[str, list[dict[str, Any]]] = {}
    sessions: dict[str, dict[str, Any]] = {}
    entities: dict[str, list[dict[str, Any]]] = {}
    relations: dict[str, list[dict[str, Any]]] = {}


def read(folder: Path) -> Recorded:
    """Read what a data folder has.

    Args:
        folder: The data folder.

    Returns:
        What was written; outputs only of conversations without notes on every turn.
    """
    contexts, noted, sessions = dict[str, str](), set[str](), dict[str, dict[str, Any]]()
    questions: dict[str, list[str]] = defaultdict(list)
    notes: dict[str, list[str]] = defaultdict(list)
    facts: dict[str, list[dict[str, Any]]] = defaultdict(list)
    entities: dict[str, list[dict[str, Any]]] = {}
    relations: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in _lines(folder / NOTES):
        entities |= dict.fromkeys(line.get("contexts") or (), line.get("entities") or [])
        for one in line.get("relations") or ():
            relations[one["turn"]].append(one)
        noted.add(line["conversation_id"])
        contexts.update(line.get("contexts") or {})
        sessions.update(dict.fromkeys(line.get("contexts") or (), _session(line)))
        for turn, texts in (line.get("questions") or {}).items():
            questions[turn] += texts
        for fact in line.get("facts") or ():
            facts[fact["turn"]].append(fact)
    for line in _lines(folder / OUTPUTS):
        if line["conversation_id"] not in noted:
            for turn in line.get("source_turn_ids") or ():
                notes[turn].append(_HEADING.sub("", line["text"]))
    return Recorded(
        contexts,
        dict(questions),
        dict(notes),
        frozenset(noted),
        facts=dict(facts),
        sessions=sessions,
        entities=entities,
        relations=dict(relations),
    )


class Replier:
    """Answers chat requests; see ``slowcat_memory.testing.server``.

    Attributes:
        origin_of: What the data calls a turn, by its number in the log, "" for none; set before it
            is asked anything.
        unknown: How many requests were no job's that it knows.
    """

    def __init__(self, recorded: Recorded) -> None:
        """Choose the texts.

        Args:
            recorded: What was written.
        """
        self._recorded = recorded
        self.origin_of: Callable[[int], str] = lambda turn: ""
        self.unknown = 0

    def __call__(self, body: dict[str, Any]) -> str | Failure:
        """Answer a request."""
        system, user = (str(message["content"]) for message in body["messages"][:2])
        if system.startswith(_FACTS):
            [asked] = _ASKED_FACTS.findall(user)
            return json.dumps(self._read([int(turn) for turn in asked.split(", ")]))
        if system.startswith(merging.SYSTEM):  # nobody was asked: they stay two
            return json.dumps({"pairs": []})
        if summary_prompt.SESSION.asks in system or summary_prompt.WINDOW.asks in system:
            return json.dumps(self._sum_up(user))
        if summary_prompt.ROLLUP.asks in system:
            return json.dumps(_joined(user))
        [asked] = _ASKED.findall(user) or [""]
        if not system.startswith(descriptions.SYSTEM):
            self.unknown += 1
            return Failure(400)
        return json.dumps({"turns": [self._entry(int(turn)) for turn in asked.split(", ")]})

    def _sum_up(self, user: str) -> dict[str, Any]:
        origins = (self.origin_of(int(turn)) for turn in _TURN.findall(user))
        known = self._recorded.sessions
        return next((known[origin] for origin in origins if origin in known), {"summary": ""})

    def _read(self, turns: list[int]) -> dict[str, Any]:
        """Answer about turns; a relation that no fact of its turn states has no quote, and is left out."""
        named, read = dict[str, dict[str, Any]](), list[dict[str, Any]]()
        for turn in turns:
            origin = self.origin_of(turn)
            for one in self._recorded.entities.get(origin, ()):
                named[one["name"]] = {"name": one["name"][:80], "type": one["type"]}
            facts = self._recorded.facts.get(origin, [])
            relations = {
                str(n): one for n, one in enumerate(self._recorded.relations.get(origin, ()))
            }
            read += [
                {**fact, "turn": turn} for fact, _ in statements(facts, relations)[: len(facts)]
            ]
        return {"facts": read[:60], "entities": list(named.values())[:60]}

    def _entry(self, turn: int) -> dict[str, Any]:
        origin = self.origin_of(turn)
        return {
            "turn": turn,
            "context": self._recorded.contexts.get(origin, ""),
            "questions": self._recorded.questions.get(origin, [])[: descriptions.MAX_QUESTIONS],
            "notes": [
                _short(text)
                for text in self._recorded.notes.get(origin, [])[: descriptions.MAX_NOTES]
            ],
        }


def statements(
    facts: list[dict[str, Any]], relations: dict[str, dict[str, Any]]
) -> list[tuple[dict[str, Any], str]]:
    """Return facts and relations that were written apart in the form of one reply.

    Args:
        facts: Of one turn.
        relations: Of the same turn, by a key.

    Returns:
        The facts, each with the predicate and object of the relation that it states, then the
        other relations as facts; each with the relation's key, "" for none.
    """
    rest, made = dict(relations), list[tuple[dict[str, Any], str]]()
    for fact in facts:
        key = next((key for key, one in rest.items() if _states(fact, one)), "")
        related = rest.pop(key, {})
        parts = ("predicate", "object", "over")
        made.append((fact | {name: related[name] for name in parts if name in related}, key))
    for key, one in rest.items():
        text = sentence(one["subject"], one["predicate"], one["object"])
        made.append(({"type": "person", "content": text, "confidence": "high"} | one, key))
    return made


def _states(fact: dict[str, Any], relation: dict[str, Any]) -> bool:
    """Return whether a fact is about a relation's subject, names its object, and quotes its words."""
    same = fingerprint(fact["subject"]) == fingerprint(relation["subject"])
    quotes = (fingerprint(fact["quote"]), fingerprint(relation.get("quote", "")))
    near = quotes[0] in quotes[1] or quotes[1] in quotes[0]
    named = f" {fingerprint(relation['object'])} " in f" {fingerprint(fact['content'])} "
    return same and near and named


def _session(line: dict[str, Any]) -> dict[str, Any]:
    """Take what was written about a session as a whole."""
    return {
        "summary": line.get("summary", ""),
        "topics": line.get("topics") or [],
        "entities": [one["name"] for one in line.get("entities") or ()],
        "tone": line.get("tone", ""),
        "relationship": line.get("relationship", ""),
    }


def _joined(user: str) -> dict[str, Any]:
    """Sum up summaries as nobody has written it down: by the first sentence of each."""
    lines = re.findall(r"^\[\d+\] [^:]*: (.*)$", user, re.M)
    return {"summary": " ".join(re.split(r"(?<=[.!?])\s", line)[0] for line in lines)[:2900]}


@contextmanager
def serving(reply: Reply) -> Iterator[str]:
    """Serve answers on loopback, on a thread of its own.

    Args:
        reply: Answers.

    Yields:
        The server's base URL.
    """
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="recorded-llm", daemon=True)
    thread.start()
    server = ScriptedServer(reply)
    asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result()
    try:
        yield server.url
    finally:
        asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def _short(note: str) -> str:
    """Cut a note to what a model that was told so would have written at most."""
    return " ".join(note.split()[: descriptions.NOTE_WORDS])


def _lines(file: Path) -> list[dict[str, Any]]:
    return datasets.lines(file) if file.is_file() else []
