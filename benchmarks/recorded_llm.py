"""Answers the product's prompts with what a language model wrote about the data once: no model runs.

A `Replier` stands behind a local server in the place of a model. It knows the job `contextualize` by its
prompt's system message, finds which turns are asked about, asks whose they are in the data, and writes
down what was written about them, as a model would answer: so the text passes through the product's own
client, parser and checks, store and index.

What was written comes in two forms. ``llm_notes.jsonl.gz``: one line a session with
``conversation_id``, ``contexts`` (a text by turn id) and ``questions`` (a list by turn id).
``llm_outputs.jsonl.gz``: one line a text; those with ``source_turn_ids`` are notes about these turns, where the heading 【…】 of some is
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
from slowcat_memory.testing.server import Failure, ScriptedServer
from slowcat_memory.testing.server import Replier as Reply

NOTES, OUTPUTS = "llm_notes.jsonl.gz", "llm_outputs.jsonl.gz"
_HEADING = re.compile(r"^【[^】]*】\s*")
_ASKED = re.compile(r"^Write about the turns ([\d, ]+)\.$", re.M)


class Recorded(Struct, frozen=True):
    """What was written about turns, by turn id.

    Attributes:
        contexts: What places a turn.
        questions: What it answers.
        notes: What it tells.
        noted: Conversations of which every turn has a text.
    """

    contexts: dict[str, str]
    questions: dict[str, list[str]]
    notes: dict[str, list[str]]
    noted: frozenset[str]


def read(folder: Path) -> Recorded:
    """Read what a data folder has.

    Args:
        folder: The data folder.

    Returns:
        What was written; outputs only of conversations without notes on every turn.
    """
    contexts, noted = dict[str, str](), set[str]()
    questions: dict[str, list[str]] = defaultdict(list)
    notes: dict[str, list[str]] = defaultdict(list)
    for line in _lines(folder / NOTES):
        noted.add(line["conversation_id"])
        contexts.update(line.get("contexts") or {})
        for turn, texts in (line.get("questions") or {}).items():
            questions[turn] += texts
    for line in _lines(folder / OUTPUTS):
        if line["conversation_id"] not in noted:
            for turn in line.get("source_turn_ids") or ():
                notes[turn].append(_HEADING.sub("", line["text"]))
    return Recorded(contexts, dict(questions), dict(notes), frozenset(noted))


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
        [asked] = _ASKED.findall(user) or [""]
        if not system.startswith(descriptions.SYSTEM):
            self.unknown += 1
            return Failure(400)
        return json.dumps({"turns": [self._entry(int(turn)) for turn in asked.split(", ")]})

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
