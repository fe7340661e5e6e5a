"""Markdown transcripts: "**Name:** text", "- **Name**: text", or a heading for each turn.

::

    # Talk of 2024-05-12

    ## User
    My dog is called Max.

    ## Assistant
    What a good name!
"""

import re
from collections.abc import Iterator

from slowcat_memory.transfer.formats.format import Break, Format, Piece, Sample, Text
from slowcat_memory.transfer.formats.text_turns import Bad, More, Part, Turn, joined
from slowcat_memory.transfer.transcript import AGENTS, Report, label_of, time_of

_BOLD = re.compile(
    r"\s*(?:[-*>]\s+)?(?:[\[(](?P<at>\d[^\])]{7,30})[\])]\s*)?"
    r"\*\*(?P<name>[^*:]{1,64}):?\*\*\s*:?(?:\s+(?P<said>.*)|$)"
)
_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*\s*")
_RULE = re.compile(r"\s*(?:---+|\*\*\*+|___+)\s*")
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?")
_SPEAKERS = AGENTS | {"user", "human", "you", "me", "prompt", "response", "chatgpt", "claude"}


def _knows(sample: Sample) -> bool:
    bold = sum(_is_turn(line) for line in sample.lines[:200])
    return bold >= 1 if _is_turn(sample.first) else bold >= 2 or len(_speakers(sample)) > 1


def _is_turn(line: str) -> bool:
    return ":" in line and _BOLD.fullmatch(line) is not None


def _speakers(sample: Sample) -> set[str]:
    """Return those who speak under a heading of their own."""
    headings = (match for line in sample.lines if (match := _HEADING.fullmatch(line)))
    return {name for match in headings if (name := _speaker(match[2]))}


def _speaker(heading: str) -> str:
    name = heading.strip(" *:")
    return name if name.casefold() in _SPEAKERS or name.casefold() == "assistant" else ""


def _read(text: Text, report: Report) -> Iterator[Piece]:
    return joined(_parts(text, report), report)


def _parts(text: Text, report: Report) -> Iterator[Part]:
    begun = False
    for number, line in text.lines(report):
        if heading := _HEADING.fullmatch(line):
            part = _of_heading(number, heading[2])
        elif _RULE.fullmatch(line) or not line.strip():
            continue
        elif match := _BOLD.fullmatch(line) if ":" in line else None:
            part = _of_bold(number, match)
        elif begun:
            part = More(line=number, said=line)
        else:
            continue  # a foreword
        begun = begun or isinstance(part, Turn)
        yield part


def _of_heading(number: int, heading: str) -> Part:
    if name := _speaker(heading):
        return Turn(line=number, who=name, said="")
    date = _DATE.search(heading)
    return Break(line=number, label=label_of(heading), started=time_of(date[0]) if date else None)


def _of_bold(number: int, match: re.Match[str]) -> Part:
    try:
        at = time_of(match["at"])
    except ValueError as error:
        return Bad(line=number, why=str(error))
    return Turn(line=number, who=match["name"], said=match["said"] or "", at=at)


FORMAT = Format(name="Markdown", knows=_knows, read=_read)
