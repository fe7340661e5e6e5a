"""Texts about turns that a language model wrote: recorded, so that no model runs.

Two forms. ``llm_notes.jsonl.gz``: one line a session with ``conversation_id``, ``contexts`` (a text by
turn id) and ``questions`` (a list by turn id). ``llm_outputs.jsonl.gz``: one line a text, of which those
with ``source_turn_ids`` are notes about these turns; what is about nothing in particular is left out.
"""

from collections import defaultdict
from pathlib import Path
from typing import Any

from msgspec import Struct

from benchmarks import datasets

NOTES, OUTPUTS = "llm_notes.jsonl.gz", "llm_outputs.jsonl.gz"


class Written(Struct, frozen=True):
    """What was written, by turn id.

    Attributes:
        conversations: Which ones it is about.
        contexts: What places a turn.
        keys: Short texts that point back to a turn: kind and text.
    """

    conversations: frozenset[str] = frozenset()
    contexts: dict[str, str] = {}
    keys: dict[str, list[tuple[str, str]]] = {}


def read(file: Path) -> Written:
    """Read a file in either form.

    Args:
        file: The file.

    Returns:
        What it holds.
    """
    lines = datasets.lines(file)
    keys: dict[str, list[tuple[str, str]]] = defaultdict(list)
    contexts: dict[str, str] = {}
    for line in lines:
        contexts.update(line.get("contexts") or {})
        for turn, kind, text in _keys(line):
            keys[turn].append((kind, text))
    return Written(frozenset(line["conversation_id"] for line in lines), contexts, dict(keys))


def find(folder: Path) -> Written:
    """Read what a data folder has: notes on every turn, or else what there is.

    Args:
        folder: The data folder.

    Returns:
        What was written; nothing where nothing was.
    """
    for name in (NOTES, OUTPUTS):
        if (folder / name).is_file():
            return read(folder / name)
    return Written()


def _keys(line: dict[str, Any]) -> list[tuple[str, str, str]]:
    """List the keys in a line: turn, kind, text."""
    asked = (line.get("questions") or {}).items()
    found = [(turn, "question", text) for turn, texts in asked for text in texts]
    return found + [(turn, "note", line["text"]) for turn in line.get("source_turn_ids") or ()]
