"""Captions: WebVTT and SubRip. Who speaks is a voice tag, or "Name:" before the words.

Their times count from the beginning of a recording, whose date the file does not say; cues of one
speaker that follow each other are one turn.
"""

import re
from collections.abc import Iterator

from slowcat_memory.transfer.formats.format import Format, Piece, Sample, Text
from slowcat_memory.transfer.formats.plain_text import is_name
from slowcat_memory.transfer.formats.text_turns import More, Part, Turn, joined
from slowcat_memory.transfer.transcript import Report

_CUE = re.compile(r"\s*(?:\d+:)?\d\d:\d\d[.,]\d{3}\s+-->\s+(?:\d+:)?\d\d:\d\d[.,]\d{3}.*")
_VOICE = re.compile(r"<v(?:\.[\w.]+)*\s+([^>]+)>(.*)", re.DOTALL)
_NAMED = re.compile(r"(?:-\s*)?>?\s*([^\W_][^:<>]{0,40}):\s+(.*)")
_TAG = re.compile(r"</?[a-zA-Z][^>]*>|\{\\[^}]*\}")


def _knows(sample: Sample) -> bool:
    if sample.first.startswith("WEBVTT"):
        return True
    return any(map(_CUE.fullmatch, sample.lines[:2]))


def _read(text: Text, report: Report) -> Iterator[Piece]:
    return joined(_merged(_parts(text, report)), report)


def _parts(text: Text, report: Report) -> Iterator[Part]:
    in_cue = False
    for number, line in text.lines(report):
        if _CUE.fullmatch(line):
            in_cue = True
        elif not line.strip():
            in_cue = False
        elif in_cue:
            yield _part(number, line)


def _part(number: int, line: str) -> Part:
    if voice := _VOICE.search(line):
        return Turn(line=number, who=voice[1], said=_TAG.sub("", voice[2]).strip())
    plain = _TAG.sub("", line).strip()
    if (named := _NAMED.fullmatch(plain)) and is_name(named[1]):
        return Turn(line=number, who=named[1], said=named[2])
    return More(line=number, said=plain)


def _merged(parts: Iterator[Part]) -> Iterator[Part]:
    """Continue a speaker's turn with their next cue."""
    who = ""
    for part in parts:
        if isinstance(part, Turn) and part.who == who:
            yield More(line=part.line, said=part.said)
        else:
            who = part.who if isinstance(part, Turn) else who
            yield part


FORMAT = Format(name="captions (WebVTT, SubRip)", knows=_knows, read=_read)
