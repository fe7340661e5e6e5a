"""The formats of transcripts, recognised by content."""

from slowcat_memory.transfer.formats import json_exports, plain_text, rows
from slowcat_memory.transfer.transcript import Format, NotATranscriptError, Text

HINT = 'A turn is a line such as "Anna: Hello."; docs/importing.md lists the formats.'
FORMATS: tuple[Format, ...] = (
    rows.FORMAT,
    plain_text.WHATSAPP,
    *json_exports.FORMATS,
    plain_text.PLAIN,
)


def recognise(text: Text) -> Format:
    """Return the format of a file.

    Raises:
        TranscriptError: It has none that is known, or is damaged.
    """
    for format_ in FORMATS:
        if format_.knows(text):
            return format_
    if text.is_json and text.objects is not None:
        raise NotATranscriptError(f"{text.name} is JSON of no known kind", hint=HINT)
    raise NotATranscriptError(f"{text.name} is text without names of speakers", hint=HINT)
