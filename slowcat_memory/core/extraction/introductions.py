"""How users introduce themselves: "my name is Ben", "call me Ben", "ich heiße Ben"."""

import re

from slowcat_memory.core.extraction.bounded_names import can_be_name
from slowcat_memory.core.language import of_any
from slowcat_memory.core.language.names import is_given_name
from slowcat_memory.core.language.ordinary import is_ordinary
from slowcat_memory.core.text.normalize import clean

MOST_CHARS = 300  # of an utterance that may introduce somebody
_WORD = r"[^\W\d_]+(?:['’-][^\W\d_]+)*"
_NAMES = rf"(?P<name>{_WORD}(?: {_WORD}){{0,2}})"
_LEAD = (
    "and|but|so|und|aber|hi|hello|hey|hallo|well|oh|okay|ok|no|nein|ja|yes|actually|also|by the way|"
    "übrigens|please|bitte"
)
_BEGIN = rf"(?:^|[.!;,]\s*|\b(?:{_LEAD})\s+)"
_SURE = re.compile(
    rf"{_BEGIN}(?:{of_any(lambda one: one.names.introduces)}) {_NAMES}", re.IGNORECASE
)
_WHOLE = re.compile(
    rf"^(?:(?:hi|hello|hey|hallo|good \w+|guten \w+|okay|ok|also|so|well|oh)[ ,!.]+)*"
    rf"(?:{of_any(lambda one: one.names.presents)}) {_NAMES}\s*[.!]*$",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"^(?:\s*(?:[.!;,]|$)|\s+(?:and|but|by|from|please|now|instead|und|aber|bitte|jetzt|aus|nennen)\b)"
)


def introduced(text: str) -> str:
    """Return the name that a user introduces themselves by; "" for none.

    "My name is Ben" counts, and "I'm Ben" where Ben is a known given name; a question, a quotation
    and a wish ("call me later", "if my name was Ben") do not.
    """
    if len(text) > MOST_CHARS or text.rstrip().endswith("?"):
        return ""
    plain = clean(text)[0].replace("’", "'")
    for match in _SURE.finditer(plain):
        if name := _name(match["name"], plain[match.end("name") :], known=False):
            return name
    whole = _WHOLE.match(plain)
    return _name(whole["name"], "", known=True) if whole else ""


def _name(words: str, rest: str, *, known: bool) -> str:
    """Return the words that are a name, with capitals; "" if the first is none."""
    said = words.split()
    many = 0
    for word in said:
        low = word.lower()
        given = is_given_name(low)
        cased = word[0].isupper() and (bool(many) or not is_ordinary(low))
        if not (given or cased or (not known and not is_ordinary(low) and not many)):
            break
        if many and word.islower() and said[0][0].isupper():
            break
        many += 1
    if not many or (known and not is_given_name(said[0].lower())):
        return ""
    after = " ".join(["", *said[many:]]) + rest
    if not _AFTER.match(after):
        return ""
    name = " ".join(word[0].upper() + word[1:] for word in said[:many])
    return name if can_be_name(name, person=True) else ""
