"""Whether the words that are quoted for a statement or a relation say it.

*Contradicted*: a statement says what its quote denies or supposes.

*Related*: "I have to give notice to Gareth" marries nobody: each canonical predicate has words of
evidence (`PersonWords.evidence`), and what stands next to them must be able to be the subject's.

*Reported*: what was read aloud ("it says ...", "the message goes ...") was not said by the speaker
about their life: what follows from it is kept as reported, with low confidence, and is never
brought up. What a person said ("the doctor said I have to rest") and what a recipe says is the
speaker's own.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from slowcat_memory.core.extraction.attributed import (
    QuotedPassage,
    Token,
    about,
    find,
    fits,
    owned_by_another,
    owner_before,
    same,
    tokens,
    words_in,
)
from slowcat_memory.core.extraction.clauses import languages_of, pattern_of, straight
from slowcat_memory.core.language import LANGUAGES, of_any, words_of_any
from slowcat_memory.core.text.normalize import fingerprint
from slowcat_memory.core.text.numerals import DATED
from slowcat_memory.core.text_caches import text_cache
from slowcat_memory.records import Statement, Turn

REACH = 3  # words that a negation reaches
_MARKS = frozenset(",.;:!?…—–")
_PLAIN = re.compile(rf"\b(?:{of_any(lambda table: table.persons.plain)})(?=\W|$)", re.IGNORECASE)
_ENDED = re.compile(rf"(?:{of_any(lambda table: table.persons.ended)})", re.IGNORECASE)
_ENDING = re.compile(rf"(?:{of_any(lambda table: table.persons.ending)})\b", re.IGNORECASE)
_DENIALS = words_of_any(lambda table: table.persons.sets["denials"])
_OPINIONS = words_of_any(lambda table: table.persons.sets["says"])
_HELPERS = words_of_any(lambda table: table.persons.sets["helpers"] | table.persons.sets["my"])
_SUBJECTS = words_of_any(
    lambda table: frozenset().union(
        *(table.persons.sets[name] for name in ("i", "we", "he", "she", "they", "you"))
    )
)
_SUPPOSED = re.compile(of_any(lambda table: table.persons.supposed), re.IGNORECASE)
_TAG = re.compile(of_any(lambda table: f"(?:{table.persons.statement_tag})"), re.IGNORECASE)
_READ = re.compile(of_any(lambda table: f"(?:{table.persons.read_aloud})"), re.IGNORECASE)
_OWN = re.compile(of_any(lambda table: f"(?:{table.persons.own_doing})"), re.IGNORECASE)
_STOP = re.compile(r"[.!?…](?=\s|$)")


def without_tag(text: str) -> str:
    """Return a sentence without the question at its end that only seeks assent ("isn't it?")."""
    return _TAG.sub("", straight(text))


def contradicts(content: str, quote: str) -> bool:
    """Return whether a statement affirms what its quote denies, or the reverse."""
    written, speech = tokens(_plain(content)), tokens(_plain(without_tag(quote)))
    denied = {place: token for reached in _denied(speech) for place, token in reached.items()}
    own = [token.word for token in _main(written)]
    if not _turned(written) and any(
        same(word, token.word) for word in own for token in denied.values()
    ):
        return not stands_apart(own, quote)
    plain = [token for n, token in enumerate(speech) if n not in denied]
    for token in (next(iter(reached.values())) for reached in _denied(written) if reached):
        stated = any(same(token.word, other.word) for other in plain)
        if stated and (not _turned(speech) or _ENDED.fullmatch(token.word)):
            return True
    return _is_off(written, quote)


def stands_apart(wanted: Iterable[str], quote: str) -> bool:
    """Return whether a clause without a negation says what no clause with one does.

    "I don't live in Leeds any more, I moved to Bath": a home in Bath is not denied.

    Args:
        wanted: Words of a statement.
    """
    wanted, plain, denied = list(wanted), set[str](), set[str]()
    for clause in re.split(r"[,.;:!?…—–]| (?:but|aber|sondern) ", _plain(without_tag(quote))):
        words = words_in(clause)
        shared = {term for term in wanted if any(same(term, word) for word in words)}
        if any(map(_is_denial, words)):
            denied |= shared
        else:
            plain |= shared
    return bool(plain - denied)


def _plain(text: str) -> str:
    return _PLAIN.sub(" ", straight(text))


def _is_denial(word: str) -> bool:
    return word in _DENIALS or word.endswith("n't")


def _turned(speech: Sequence[Token]) -> bool:
    """Return whether words have a negation, or say that something ends."""
    return any(_is_denial(token.word) or _ENDED.fullmatch(token.word) for token in speech)


def _denied(speech: Sequence[Token]) -> list[dict[int, Token]]:
    """Return the words that each negation reaches, by place."""
    reaches = list[dict[int, Token]]()
    for place in (n for n, token in enumerate(speech) if _is_denial(token.word)):
        reached = dict[int, Token]()
        for at in range(place + 1, len(speech)):
            word = speech[at].word
            if word in _MARKS or len(reached) == REACH:
                break
            if word in _SUBJECTS:
                if speech[at - 1].word in _OPINIONS:
                    continue
                break
            if word not in _HELPERS:
                reached[at] = speech[at]
        reaches.append(reached)
    return reaches


def _main(speech: Sequence[Token]) -> list[Token]:
    """Return what a statement says of its subject: its words behind the name, without helpers."""
    first = next((n for n, token in enumerate(speech) if n and not token.capital), len(speech))
    return [token for token in speech[first:] if _has_content(token.word)]


def _has_content(word: str) -> bool:
    return not (word in _MARKS or word in _HELPERS or word in DATED or any(map(str.isdigit, word)))


def _is_off(written: Sequence[Token], quote: str) -> bool:
    """Return whether a quote calls off what a statement says to take place."""
    if _turned(written):
        return False
    clauses = [part for part in re.split(r"[,.;!?]", straight(quote)) if _ENDING.search(part)]
    words = {word for part in clauses for word in words_in(part) if _has_content(word)}
    return any(same(token.word, word) for token in written[1:] for word in words)


def supposes(quote: str, text: str) -> bool:
    """Return whether a quote, or what leads to it in its clause, only supposes something."""
    plain = straight(text)
    words = words_in(quote)
    span = find(words, tokens(text))
    if span is None:
        return bool(_SUPPOSED.search(straight(quote)))
    before = list[str]()
    for token in reversed(tokens(plain)[: span.start]):
        if token.word in _MARKS:
            break
        before.insert(0, token.word)
    return bool(_SUPPOSED.search(f"{' '.join(before)} {straight(quote)}"))


# ------------------------------------------------------------------- read aloud


def reported_parts(text: str) -> Iterator[str]:
    """Yield what a turn repeats from a text: from the words that announce it to the sentence's end."""
    plain = straight(text)
    for match in _READ.finditer(plain):
        start = max((end.end() for end in _STOP.finditer(plain, 0, match.start())), default=0)
        if _OWN.search(plain[start : match.end()]):
            continue
        end = _STOP.search(plain, match.end())
        yield plain[match.start() : end.end() if end else len(plain)]


def is_reported(quote: str, text: str) -> bool:
    """Return whether a quote of a turn lies in what the turn repeats from a text."""
    words = fingerprint(straight(quote))
    return bool(words) and any(words in fingerprint(part) for part in reported_parts(text))


def reads_aloud(text: str) -> bool:
    """Return whether a text repeats another one."""
    return any(True for _ in reported_parts(text))


# ------------------------------------------------------------------- relations

# Predicates that hold in both directions.
_MUTUAL = frozenset("married_to friend_of engaged_to has_partner has_husband has_wife has_friend "
                    "has_boyfriend has_girlfriend has_colleague".split())  # fmt: skip
_PLACED = frozenset({"located_in", "based_in", "in", "part_of", "located_at", "is_in"})
_KEPT_BY_THE = frozenset({"the", "der", "die", "das", "den", "dem"})


def unrelated(claim: Statement, written: str, turn: Turn, people: Iterable[str] = ()) -> bool:
    """Return whether a turn's quoted words do not show a relation.

    Args:
        claim: With its predicate in canonical form. One that is over was so: an ex-husband was a
            husband.
        written: Its predicate as an LLM named it.
        people: Names of people and animals, also in lower case.
    """
    speech = tokens(turn.text)
    span = find(words_in(claim.quote), speech)
    if span is None:
        return True
    languages = languages_of(turn.text)
    names = (*people, claim.subject, claim.object)
    asked = about(claim.subject, turn.speaker, names)
    sides = {*words_in(claim.subject), *words_in(claim.object)}
    named = sides & {speech[place].word for place in span}
    if "_".join(words_in(written.replace("_", " "))) in _PLACED and len(named) > 1:
        return False  # where a thing is: "Corrib Vets in Galway"
    if not any(claim.predicate in language.persons.evidence for language in languages):
        return False
    directions = [asked]
    if claim.predicate in _MUTUAL:
        directions.append(about(claim.object, turn.speaker, names))
    return not any(
        _shows(claim, [QuotedPassage(speech, who, language) for who in directions], span)
        for language in languages
        if claim.predicate in language.persons.evidence
    )


@text_cache(256)  # an LLM may name a predicate as it likes
def evidence(predicate: str) -> re.Pattern[str]:
    """Return the words for a predicate in any language; none match for an unknown one."""
    known = [language.persons.evidence.get(predicate, "") for language in LANGUAGES]
    pattern = "|".join(filter(None, known))
    return re.compile(rf"\b(?:{pattern})" if pattern else r"(?!)", re.IGNORECASE)


def _shows(claim: Statement, passages: Sequence[QuotedPassage], span: range) -> bool:
    """Return whether the evidence for a relation stands in a quote, and is the subject's."""
    speech, evidence = passages[0].said, passages[0].language.persons.evidence
    place = _evidence_at(claim, speech, span, evidence[claim.predicate])
    if place is None:
        return False
    if claim.predicate.startswith("has_") or claim.predicate in (*_MUTUAL, "owns"):
        return any(_owns(claim, passage, place) for passage in passages)
    wanted = words_in(claim.object)
    at = next((n for n in span for word in wanted if same(speech[n].word, word)), place)
    return fits(passages[0], at)


def _evidence_at(claim: Statement, words: Sequence[Token], span: range, pattern: str) -> int | None:
    """Return the place of a predicate's evidence in a quote."""
    text = " ".join(words[place].word + words[place].clitic for place in span)
    if claim.over:
        text = re.sub(r"\bex (?=\w)", "", text)
    match = pattern_of(rf"(?<![\w-])(?:{pattern})").search(text)
    return span[text.count(" ", 0, match.start())] if match else None


def _owns(claim: Statement, passage: QuotedPassage, place: int) -> bool:
    """Return whether somebody can be the owner of what stands at a place."""
    at, speech, sets = place, passage.said, passage.sets
    if claim.predicate in ("has_pet", "owns"):
        wanted = words_in(claim.object)
        near = [n for n, token in enumerate(speech) if any(same(token.word, w) for w in wanted)]
        at = min(near, key=lambda n: abs(n - place), default=place)
        owners = sets["my"] | sets["his"] | sets["her"]
        owned = any(token.word in owners for token in speech[place:at])
        if at and speech[at - 1].word in _KEPT_BY_THE and not owned:
            return False
    if owner_before(passage, at) is not None:
        return not owned_by_another(passage, at)
    return fits(passage, place)
