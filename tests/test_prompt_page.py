"""The page of prompts: as they are sent, with replies that are kept and replies that are refused.

``python -m tests.test_prompt_page`` writes the page again.
"""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Struct

import slowcat_memory
from slowcat_memory.core.blocks import prompt as blocks
from slowcat_memory.core.blocks.prompt import Support
from slowcat_memory.core.blocks.statements import SourcedLine, ground_of
from slowcat_memory.core.extraction import descriptions
from slowcat_memory.core.extraction.known import Known, KnownLine, ground_with, known_lines
from slowcat_memory.core.extraction.prompt_record import fenced
from slowcat_memory.core.facts import merging
from slowcat_memory.core.facts import prompt as facts
from slowcat_memory.core.ranking import grades
from slowcat_memory.core.summaries import prompt as summaries
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.records import Memory, Statement, Turn
from tests.support.rows import DATA, listed
from tests.support.said import memory_at, turn_at

PAGE = Path(__file__).parents[1] / "docs" / "prompts.md"
SAID = datetime(2026, 10, 20, 18, tzinfo=UTC)
AT = datetime(2026, 11, 10, 18, tzinfo=UTC)
REPLIES = json.loads((DATA / "prompt_replies.json").read_text("utf-8"))
SHOWN = 800  # characters of a turn
TURNS = [
    Turn(id=n, session="s", scope="nadia", speaker=speaker, role=role, text=text, at=AT)  # type: ignore[arg-type]
    for n, (speaker, role, text) in enumerate(listed("prompt_turns"), 41)
]
ASKED = {one.id: one for one in TURNS if one.role == "user"}
KNOWN = Known(
    (
        KnownLine("Rosa: sister of Nadia", "Rosa", SAID, "fact/1", (7,)),
        KnownLine("Museu da Costa: workplace of Nadia from 2026-11-16", "Museu da Costa", SAID, "fact/2", (9,)),
    ),
    KnownLine("Nadia got the job at the Museu da Costa in Aveiro.", "", SAID, "summary/session/1", (7, 9)),
)  # fmt: skip
START = KnownLine(
    "Nadia starts at the Museu da Costa on 16 November 2026.", "", SAID, "fact/1", (9,)
)


Keeps = Callable[[dict[str, Any]], list[str]]
Asked = tuple[str, str, str, str, Keeps]  # the fields of an example that are not its replies


class Example(Struct, frozen=True):
    """A prompt, a good reply, and replies of which nothing is kept, each with the reason.

    Attributes:
        keeps: Returns the texts of a reply that pass the checks.
    """

    title: str
    file: str
    system: str
    user: str
    keeps: Keeps
    good: dict[str, Any]
    kept: list[str]
    refused: list[tuple[dict[str, Any], str]]


def _facts() -> Asked:
    known = KNOWN.with_facts([START])

    def keeps(reply: dict[str, Any]) -> list[str]:
        answer = msgspec.convert(reply, facts.FactsReply)
        return [one.content for one in facts.check_reply(answer, ASKED, TURNS, UTC, known).kept]

    user = facts.build_prompt(TURNS, ASKED, known, UTC, SHOWN)
    return "Facts and names", "core/facts/prompt.py", facts.system(), user, keeps


def _descriptions() -> Asked:
    def keeps(reply: dict[str, Any]) -> list[str]:
        answer = msgspec.convert(reply, descriptions.DescriptionsReply)
        found = descriptions.check_reply(answer, ASKED, ground_with(TURNS, UTC, KNOWN)).found
        return [one.context for one in found.values() if one.context]

    user = descriptions.build_prompt(TURNS, ASKED, UTC, SHOWN, KNOWN)
    file = "core/extraction/descriptions.py"
    return "Contexts, questions and notes", file, descriptions.SYSTEM, user, keeps


def _summary() -> Asked:
    def keeps(reply: dict[str, Any]) -> list[str]:
        answer = msgspec.convert(reply, summaries.Reflection)
        found = summaries.check_reply(answer, summaries.SESSION, ground_with(TURNS, UTC, KNOWN))
        return [found.text] if found else []

    user = "\n".join((*known_lines(KNOWN, UTC), fenced(TURNS, UTC, SHOWN)))
    system = summaries.instruction(summaries.SESSION)
    return "Summaries", "core/summaries/prompt.py", system, user, keeps


def _memory(id_: str, text: str, at: datetime, **more: Any) -> Memory:
    return memory_at(id_, text, at, scope="nadia", speaker="Nadia", **more)


def _fact(text: str, turn: int, at: datetime) -> Memory:
    stated = {"sources": (turn,), "statement": Statement(subject="Nadia")}
    return _memory(f"fact/{turn}", text, at, kind="fact/work", **stated)


def _merge() -> Asked:
    older = _fact("Nadia has her first day at the museum on 16 November 2026.", 9, SAID)
    newer = _fact("Nadia has her first day at the museum on 1 December 2026 instead.", 41, AT)
    beside = _fact("Nadia likes the beach at Costa Nova.", 43, AT)
    pairs = [merging.Pair(older, newer), merging.Pair(older, beside)]
    tokenize = Tokenizer()

    def keeps(reply: dict[str, Any]) -> list[str]:
        answer = msgspec.convert(reply, merging.PairsReply)
        said = {one.pair: one.text or "" for one in answer.pairs if one.same_fact}
        return [
            pair.newer.text
            for n, pair in enumerate(pairs, 1)
            if n in said and merging.outcome_of_verdict(pair, said[n], tokenize)
        ]

    user = merging.build_prompt(pairs)
    return "Merging facts", "core/facts/merging.py", merging.SYSTEM, user, keeps


def _grades() -> Asked:
    found = [
        _memory("chunk/9", "I got the job, I start on the sixteenth", SAID),
        _memory("chunk/7", "Rosa has a red car", SAID),
    ]
    who = {"scope": "nadia", "speaker": "Nadia"}
    query = turn_at("no, I meant the date they told me first", AT, id=45, **who)
    answered = {"id": 44, "scope": "nadia", "speaker": "Otto", "role": "assistant"}
    before = turn_at("You start on the first of December.", AT, **answered)
    user, lines = grades.build_prompt(query, before, found, 2000)

    def keeps(reply: dict[str, Any]) -> list[str]:
        try:
            given = grades.grades_of(msgspec.convert(reply, grades.Grades), lines)
        except grades.BadAnswerError:
            return []
        return [found[n - 1].text for n, grade in given.items() if grade == 2]

    title = "Grades of what was recalled"
    return title, "core/ranking/grades.py", grades.SYSTEM, user, keeps


STATEMENTS = [
    SourcedLine(text="Nadia works at the Museu da Costa in Aveiro.", at=SAID, of="fact/1"),
    SourcedLine(text="Rosa is Nadia's sister.", at=SAID, of="fact/2"),
]
WHO = ("Nadia", "Otto")


def _block() -> Asked:
    def keeps(reply: dict[str, Any]) -> list[str]:
        support = Support(STATEMENTS, WHO, UTC, ("Rosa",))
        answer = msgspec.convert(reply, blocks.BlockLines)
        return blocks.kept(answer, "human", ground_of(STATEMENTS, WHO, UTC), support, 800)

    user = blocks.build_prompt("human", STATEMENTS, "", "Nadia", UTC)
    return "Blocks", "core/blocks/prompt.py", blocks.system("human", 800), user, keeps


EXAMPLES = [
    Example(*asked, **REPLIES[asked[0]])
    for asked in (_facts(), _descriptions(), _summary(), _merge(), _grades(), _block())
]


def page() -> str:
    """Return docs/prompts.md."""
    parts = [(DATA / "prompts.md").read_text("utf-8").rstrip("\n")]
    for one in EXAMPLES:
        shown = ((json.dumps(reply, ensure_ascii=False), why) for reply, why in one.refused)
        refused = ["| `{}` | {} |".format(reply.replace("|", "\\|"), why) for reply, why in shown]
        parts += [
            f"## {one.title}",
            f"`slowcat_memory/{one.file}`. The instruction:",
            f"```text\n{one.system}\n```",
            f"The message:\n\n```text\n{one.user}\n```",
            f"A good reply:\n\n```json\n{json.dumps(one.good, indent=1, ensure_ascii=False)}\n```",
            "\n".join(("Refused:", "", "| reply | why |", "|---|---|", *refused)),
        ]
    return "\n\n".join(parts) + "\n"


PACKAGE = Path(slowcat_memory.__file__).parent


@pytest.mark.parametrize("one", EXAMPLES, ids=lambda one: one.title)
def test_a_good_reply_is_kept_and_the_others_are_refused(one):
    assert one.keeps(one.good) == one.kept
    for reply, why in one.refused:
        assert not one.keeps(reply), why


def test_the_page_shows_every_prompt_as_it_is_sent():
    assert PAGE.read_text("utf-8") == page(), "python -m tests.test_prompt_page"


def test_every_prompt_of_the_package_has_an_example():
    files = {
        path.relative_to(PACKAGE).as_posix()
        for path in (PACKAGE / "core").rglob("*.py")
        if re.search(r"^(?:SYSTEM|_INTROSPECTIVE|_SYSTEM)\b.* = ", path.read_text("utf-8"), re.M)
    }
    assert files == {one.file for one in EXAMPLES}


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
