r"""Plain text, a turn a line: "Name: what was said".

::

    # 2024-05-12 18:30
    Anna: My dog is called Max.
    Assistant: What a good name!
    [2024-05-12 18:31] Anna: He was
    a present.

A line that begins with "#" begins a session, and its time if it holds one; so do two blank lines
in a row. A time in brackets may stand before a name. A line without a name goes on with the turn
before it.
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

# A line that goes on with a turn may hold a colon too: a name has at most three words, and several
# words of a name are not in lower case.
_TURN = re.compile(
    r"\s*(?:\[(?P<at>[^\]]*)\]\s*)?"
    r"(?P<name>[^\W_][\w.'’-]*(?: [^\W_][\w.'’-]*){0,2})\s*:(?:\s+(?P<said>.*)|$)"
)
_PARTICLES = frozenset("al bin da de del den der di dos du el la le van von".split())


def transcript(lines: Iterable[Line], name: str, report: Report) -> Transcript:
    """Read lines of plain text.

    Args:
        report: Told of each line that cannot be read.
    """
    gathering, blank = SessionGrouper(), 0
    for number, line in lines:
        if not line.strip():
            blank += 1
            continue
        try:
            _take(line, number, blank, gathering)
        except ValueError as error:
            report(fault(number, error))
        blank = 0
    return Transcript(conversation=name, sessions=gathering.sessions())


def _take(line: str, number: int, blank: int, gathering: SessionGrouper) -> None:
    if line.startswith("#"):
        return _begin(line, gathering)
    if blank > 1:
        gathering.begin()
    match = _TURN.fullmatch(line)
    if match and _is_name(match["name"]):
        text, cut = clean(match["said"] or "")
        if not text:
            raise ValueError("nothing is said")
        speaker = name_of(match["name"])
        at = time_of(match["at"])
        role = role_of(speaker)
        gathering.add(
            Utterance(speaker=speaker, text=text, role=role, at=at, origin=str(number), cut=cut)
        )
    elif not gathering.append_line(clean(line)[0]):
        raise ValueError('no speaker; a turn is "Name: what was said"')


def _is_name(name: str) -> bool:
    words = name.split()
    return len(words) == 1 or not any(w[0].islower() and w not in _PARTICLES for w in words)


def _begin(line: str, gathering: SessionGrouper) -> None:
    label = label_of(line.lstrip("# "))
    try:
        started = time_of(label)
    except ValueError:
        started = None  # a heading
    gathering.begin(label, started)
