"""The formats of transcripts, recognised by content.

``recognise`` says which one a file has, or refuses it by name.
"""

from slowcat_memory.errors import TranscriptError
from slowcat_memory.transfer.formats import (
    captions,
    delimited,
    markdown,
    plain_text,
    refused,
    rows,
    whatsapp,
)
from slowcat_memory.transfer.formats.format import Format, Sample
from slowcat_memory.transfer.formats.json_exports import CHATGPT, CLAUDE, MEM0, MESSAGES, TELEGRAM

HINT = 'A turn is a line such as "Anna: Hello."; docs/importing.md lists the formats.'
_JSON = (CHATGPT, CLAUDE, TELEGRAM, MEM0, MESSAGES)
_LINES = tuple(one.FORMAT for one in (captions, whatsapp, delimited, markdown, plain_text))
FORMATS: tuple[Format, ...] = (rows.FORMAT, *_JSON, *_LINES)


class NotATranscriptError(TranscriptError):
    """The file is no transcript: in a folder or an archive, something that lies beside one."""


def recognise(sample: Sample) -> Format:
    """Return the format of a file that begins so.

    Raises:
        TranscriptError: The file is of a kind that is not read, or of none that is known.
    """
    if kind := refused.by_text(sample, chat=True):
        raise refuse(sample.name, kind)
    for one in _JSON if sample.is_json else ():
        if one.knows(sample):
            return one
    if kind := refused.by_text(sample, chat=False):
        raise refuse(sample.name, kind)
    if rows.FORMAT.knows(sample):
        return rows.FORMAT
    for one in () if sample.is_json else _LINES:
        if one.knows(sample):
            return one
    what = "JSON of no known kind" if sample.is_json else "text without names of speakers"
    raise NotATranscriptError(f"{sample.name} is {what}", hint=HINT)


def refuse(name: str, kind: refused.Refused) -> TranscriptError:
    """Return the error for a kind of files that is not read."""
    made = TranscriptError if kind.chat else NotATranscriptError
    return made(f"{name} looks like {kind.name}, which is not read", hint=kind.hint)


__all__ = ["FORMATS", "Format", "NotATranscriptError", "Sample", "recognise", "refuse"]
