"""A store with queries and the memories offered for them, for jobs that judge queries."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

from slowcat_memory.core.memory import chunk_id
from slowcat_memory.providers import Embedded
from slowcat_memory.records import LedgerEntry, LeftOut, Offer, Turn
from slowcat_memory.testing import HashEmbedder, ScriptedLLM
from tests.support.idle_doubles import NOW, Rig

SAID = (
    "My dentist is Dr Ray in Porto.",
    "The cat is called Tom.",
    "I drive a red car.",
    "Bye now.",
)
EMBEDDER = HashEmbedder()


def embed(texts: Any) -> Embedded:
    return Embedded(EMBEDDER.encode(texts), [])


class Talk:
    """A store with some memories, and turns that queried them."""

    def __init__(self, path: Path, *jobs: Any, llm: Any = None, options: dict | None = None):
        given = {"llm": llm, "embed": embed, "space": lambda: EMBEDDER.key}
        given["options"] = options or {}
        self.rig = Rig(path, *jobs, parts=given)
        self.memories = [chunk_id(self.say(text)) for text in SAID]
        self.rig.store.flush(None)

    def say(self, text: str, role: Any = "user", reply_to: int = 0, **given: Any) -> int:
        speaker = "Anna" if role == "user" else "Bot"
        turn = Turn(
            session="s", scope=given.pop("scope", "anna"), speaker=speaker, role=role, text=text,
            at=NOW - timedelta(hours=1), reply_to=reply_to, **given,
        )  # fmt: skip
        return self.rig.store.append(turn).id

    def ask(self, text: str, offered: list[int], left: tuple[int, ...] = (), **given: Any) -> int:
        turn = self.say(text, **given)
        views = {"dense": 0.5, "window": 0.5}
        row = LedgerEntry(
            turn=turn, scope="anna", session="s", at=NOW,
            offers=tuple(Offer(self.memories[n], 0.9 - n / 10, views) for n in offered),
            left_out=tuple(LeftOut(self.memories[n], "share", 0.3, 0.1, views) for n in left),
        )  # fmt: skip
        self.rig.store.write_ledger(row)
        self.rig.store.flush(None)
        return turn

    def keys(self) -> dict[str, float]:
        with self.rig.store.snapshot() as snapshot:
            return {key.id: key.weight for key in snapshot.keys("anna")}

    def vectors(self) -> set[str]:
        with self.rig.store.snapshot() as snapshot:
            return {vector.memory for vector in snapshot.vectors(EMBEDDER.key, "anna")}


def grading(**grades: int) -> ScriptedLLM:
    """Grades the lines with a certain word; all others 0."""

    def reply(prompt: Any) -> Any:
        lines = re.findall(r"^(\d+)\. (.+)$", prompt.user, re.M)
        given = [
            {"line": int(n), "grade": max((g for w, g in grades.items() if w in line), default=0)}
            for n, line in lines
        ]
        return {"grades": given}

    return ScriptedLLM(reply)
