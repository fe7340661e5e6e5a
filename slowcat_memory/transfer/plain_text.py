r"""Plain text, one turn a line: "Name: text".

::

    # 2024-05-12 18:30
    Anna: My dog is called Max.
    Assistant: What a good name!
    [2024-05-12 18:31] Anna: He was
    a present.

A line starting with "#" begins a session and may hold its time, as does a line that is only a date;
two blank lines also begin one. A time in brackets may precede a name. A line without a name
continues the turn before it. Other apps' files are turned into this by ``transfer.text_exports``.
"""

import re
from collections.abc import Iterable

from slowcat_memory.core.text.normalize import clean
from slowcat_memory.transfer.transcript import (
    Line,
    Report,
    SessionGrouper,
    Transcript,
    Utterance,
    fault,
    label_of,
    name_of,
    role_of,
    time_of,
)

# A continuation line may contain a colon too: a name has at most three words, and a name of several
# words is not in lower case.
_TURN = re.compile(
    r"\s*(?:\[(?P<at>[^\]]*)\]\s*)?"
    r"(?P<name>[^\W_][\w.'’-]*(?: [^\W_][\w.'’-]*){0,2})\s*:(?:\s+(?P<said>.*)|$)"
)
_DATE = re.compile(r"\s*\d{4}-\d\d-\d\d(?:[T ]+\d\d:\d\d(?::\d\d)?)?\s*")
_PARTICLES = frozenset("al bin da de del den der di dos du el la le van von".split())


def transcript(lines: Iterable[Line], name: str, report: Report) -> Transcript:
    """Read plain text; ``report`` is called with an error for each unreadable line."""
    gathering, blank = SessionGrouper(), 0
    for number, line in lines:
        if not line.strip():
            blank += 1
            continue
        try:
            _read_line(line, number, blank, gathering)
        except ValueError as error:
            report(fault(number, error))
        blank = 0
    return Transcript(conversation=name, sessions=gathering.sessions())


def _read_line(line: str, number: int, blank: int, gathering: SessionGrouper) -> None:
    if line.startswith("#") or _DATE.fullmatch(line):
        return _begin_session(line, gathering)
    if blank > 1:
        gathering.begin()
    match = _TURN.fullmatch(line)
    if match and _is_name(match["name"]):
        text, cut = clean(match["said"] or "")
        if not text:
            raise ValueError("the text is empty")
        speaker = name_of(match["name"])
        at = time_of(match["at"])
        role = role_of(speaker)
        gathering.add(
            Utterance(speaker=speaker, text=text, role=role, at=at, origin=str(number), cut=cut)
        )
    elif not gathering.append_line(clean(line)[0]):
        raise ValueError('no speaker; a turn is "Name: text"')


def _is_name(name: str) -> bool:
    words = name.split()
    return len(words) == 1 or not any(w[0].islower() and w not in _PARTICLES for w in words)


def _begin_session(line: str, gathering: SessionGrouper) -> None:
    label = label_of(line.lstrip("# "))
    try:
        started = time_of(label)
    except ValueError:
        started = None  # a heading
    gathering.begin(label, started)
