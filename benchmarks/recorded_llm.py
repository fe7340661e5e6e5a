"""Idle work by an LLM between what is told and what is asked, or by what one wrote once: no model runs.

A `Replier` stands behind a local server in the place of a model. It knows the job `contextualize` by its
prompt's system message, finds which turns are asked about, asks whose they are in the data, and writes
down what was written about them, as a model would answer: so the text passes through the product's own
client, parser and checks, store and index.

What was written comes in two forms. ``llm_notes.jsonl.gz``: one line a session with
``conversation_id``, ``contexts`` (a text by turn id) and ``questions`` (a list by turn id).
``llm_outputs.jsonl.gz``: one line a text; those with ``source_turn_ids`` are notes about these turns, where the heading 【…】 of some is
the data set's own grouping and no part of the note. A turn without either is answered by nothing.
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from benchmarks import datasets
from benchmarks.datasets import Dataset
from slowcat_memory.config import Config
from slowcat_memory.core.extraction import descriptions
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.providers import LLM, ThinkingOptions, open_llm
from slowcat_memory.providers.llm.recording import RecordingLLM, ReplayingLLM
from slowcat_memory.testing.server import Failure
from tests.support.scripted_server import serving

JOB = "contextualize"
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


def _short(note: str) -> str:
    """Cut a note to what a model that was told so would have written at most."""
    return " ".join(note.split()[: descriptions.NOTE_WORDS])


def _lines(file: Path) -> list[dict[str, Any]]:
    return datasets.lines(file) if file.is_file() else []


# -------------------------------------------------------------------- idle work by an LLM


class Thinker:
    """Has an engine think, and tells what came of it."""

    def __init__(self, llm: LLM | None = None, replier: Replier | None = None) -> None:
        """Choose the LLM, None for nobody; see `thinking`."""
        self.llm, self._replier = llm, replier

    def think(self, engine: MemoryEngine) -> None:
        """Do all idle work that is due. Blocks.

        Args:
            engine: Whose; always the same one.
        """
        if self.llm is None:
            return
        if self._replier is not None:
            self._replier.origin_of = lambda turn: _origin(engine, turn)
        engine.store.flush(None)
        engine.idle.until_done([JOB])


@contextmanager
def thinking(
    folder: Path,
    *,
    recorded: bool = False,
    url: str = "",
    model: str = "",
    record: Path | None = None,
    replay: Path | None = None,
) -> Iterator[Thinker]:
    """Prepare the LLM; without one, nothing is thought at all.

    Args:
        folder: The data folder.
        recorded: Answers come from the data folder's own files.
        url: Of a server.
        model: Its model, "" for the first.
        record: Keeps every prompt and answer.
        replay: Answers from such a file.

    Yields:
        What has an engine think.

    Raises:
        ConfigError: The URL is malformed.
        EndpointRefusedError: The server is not on this machine.
    """
    with ExitStack() as stack:
        replier = Replier(read(folder)) if recorded else None
        if replier:
            url = stack.enter_context(serving(replier)).url
        llm: LLM | None = None
        if replay:
            llm = ReplayingLLM(replay)
        elif url:
            llm = open_llm(ThinkingOptions(url=url, model=model))
        if record and llm is not None:
            llm = recording = RecordingLLM(llm, record)
            stack.callback(recording.close)
        yield Thinker(llm, replier)


def configured(config: Config) -> Config:
    """Have an engine think only when it is told to, and at once.

    Args:
        config: The configuration.

    Returns:
        The same without a thread of its own, grace, or pauses.
    """
    idle = replace(
        config.idle, enabled=False, grace_s=0.0, rest_s=0.05, backoff_s=0.05, on_battery=True
    )
    return replace(config, idle=idle)


def noted(data: Dataset, folder: Path) -> Dataset:
    """Keep the conversations of which every turn has a recorded text.

    Args:
        data: The data set.
        folder: Its folder.

    Returns:
        The data set with fewer questions.
    """
    return datasets.of_conversations(data, read(folder).noted)


def summary(engine: MemoryEngine) -> dict[str, Any]:
    """Count what was thought.

    Args:
        engine: After it thought.

    Returns:
        ``contexts``, ``keys``, ``dead`` (tasks given up), and the idle counters.
    """
    with engine.store.snapshot() as snapshot:
        scopes = snapshot.scopes()
        made = {
            "contexts": sum(1 for scope in scopes for _ in snapshot.contexts(scope)),
            "keys": sum(1 for scope in scopes for _ in snapshot.keys(scope)),
            "dead": len(list(snapshot.tasks(state="dead"))),
        }
    counts = engine.metrics.counts()
    return made | {name: n for name, n in counts.items() if name.startswith("idle_")}


def _origin(engine: MemoryEngine, turn: int) -> str:
    with engine.store.snapshot() as snapshot:
        said = snapshot.turn(turn)
    return said.origin if said else ""
