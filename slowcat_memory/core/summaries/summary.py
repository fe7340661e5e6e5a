"""The stored form of a summary: its kinds and ids, its facets, and how it is replaced.

A summary's id is derived from what it covers. When it is made again (a session continued, one
arrived late, an LLM replaced a rule), the previous version is retired and kept as history under an
id with its digest appended. Only forgetting deletes it.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.language.data import lazy_pattern
from slowcat_memory.core.memory import SESSION_SUMMARY
from slowcat_memory.core.text.normalize import fingerprint, hex_digest
from slowcat_memory.records import Made, Memory, Turn

WINDOW, META = "summary/window", "summary/meta"
DAY, WEEK, TOPIC = "summary/day", "summary/week", "summary/topic"
KINDS = (SESSION_SUMMARY, WINDOW, META, DAY, WEEK, TOPIC)
SPEAKER = "Summary"  # the name in a line of dialogue
HISTORY = "~"  # between the id and the digest of an archived summary
IMPORTANCE = 0.5
BETWEEN = "; "  # items of a list in a facet
_BETWEEN = lazy_pattern(r"(?<=[.!?…])(?<!\b\d\.)(?<!\b\d\d\.)\s+")  # not within "11. Mai"
_DAY = lazy_pattern(r"\d{1,2}\.? [^\W\d_]{3,}: ")  # before what belongs to it, in a week
_SPEAKER = lazy_pattern(r"(?P<who>[^\W\d_][\w .'’-]{0,30}): ")


class SummaryText(Struct, frozen=True, kw_only=True):
    """Content of a summary; ``model`` is the LLM's fingerprint, "" if made by rule.

    ``tone`` is the mood of the conversation, ``relationship`` events between the speakers, and
    ``origins`` (scope, id) what it names of earlier conversations.
    """

    text: str
    topics: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    tone: str = ""
    relationship: str = ""
    model: str = ""
    origins: tuple[tuple[str, str], ...] = ()


class Coverage(Struct, frozen=True, kw_only=True):
    """What a summary covers.

    Attributes:
        id: The summary's id.
        kind: The summary's kind.
        sources: Log ids of all covered turns.
        digest: Of its whole input; see `digest_of`.
        covers: Ids of the summaries that it summarises.
        turns: Number of covered turns.
        name: Of a topic.
    """

    id: str
    kind: str
    scope: str
    start: datetime
    until: datetime
    sources: tuple[int, ...]
    digest: str
    covers: tuple[str, ...] = ()
    turns: int = 0
    name: str = ""


def summary(subject: Coverage, text: SummaryText, made: Made, now: datetime) -> Memory:
    """Return a summary as a memory; the model in ``made`` comes from ``text``."""
    facets = {
        "from": subject.start.isoformat(),
        "until": subject.until.isoformat(),
        "digest": subject.digest,
        "turns": str(subject.turns),
        "topics": BETWEEN.join(text.topics),
        "entities": BETWEEN.join(text.entities),
        "tone": text.tone,
        "relationship": text.relationship,
        "covers": BETWEEN.join(subject.covers),
        "name": subject.name,
    }
    return Memory(
        id=subject.id,
        kind=subject.kind,
        scope=subject.scope,
        speaker=SPEAKER,
        text=text.text,
        valid_from=subject.start,
        recorded_at=now,
        sources=subject.sources,
        derived_from=text.origins,
        importance=IMPORTANCE,
        trust="agent",
        facets={name: value for name, value in facets.items() if value},
        made=replace(made, model=text.model),
    )


def text_of(memory: Memory) -> SummaryText:
    """Return the content of a summary, for one that covers nothing else."""
    return SummaryText(
        text=memory.text,
        topics=items(memory, "topics"),
        entities=items(memory, "entities"),
        tone=memory.facets.get("tone", ""),
        relationship=memory.facets.get("relationship", ""),
        model=_model(memory),
    )


def archived(old: Memory | None, now: datetime) -> tuple[Memory, ...]:
    """Return a summary as history, under another id; () if there is none, or it is retired."""
    if old is None or old.retired_at is not None:
        return ()
    model = hex_digest(_model(old), 2)
    name = f"{old.id}{HISTORY}{old.facets.get('digest', '')}.{model}"
    return (replace(old, id=name, retired_at=now),)


def current(memories: Iterable[Memory]) -> Iterator[Memory]:
    return (m for m in memories if m.retired_at is None and HISTORY not in m.id)


def is_stale(old: Memory | None, digest: str, *, llm: bool) -> bool:
    """Return whether a summary is missing, out of date, or by rule although there is an LLM."""
    if old is None or old.retired_at is not None or old.facets.get("digest") != digest:
        return True
    return llm and not _model(old)


def digest_of(version: int, parts: Iterable[str]) -> str:
    """Return a hash (16 characters) of the prompts' version and the input texts."""
    return hex_digest("\n".join((str(version), *parts)))


def of_turns(turns: Iterable[Turn]) -> Iterator[str]:
    """Yield the digest input of turns."""
    return (f"{turn.id} {turn.speaker}: {turn.text}" for turn in turns)


def of_summaries(memories: Iterable[Memory]) -> Iterator[str]:
    return (f"{m.id} {_model(m)} {m.text}" for m in memories)


def until(memory: Memory) -> datetime:
    """Return the end of the covered time."""
    text = memory.facets.get("until")
    return datetime.fromisoformat(text) if text else memory.valid_from


def items(memory: Memory, facet: str) -> tuple[str, ...]:
    """Return the items of a facet: "topics", "entities", "covers"."""
    return tuple(item for item in memory.facets.get(facet, "").split(BETWEEN) if item)


def as_turn(memory: Memory, number: int) -> Turn:
    """Return a summary as a turn without session, to be summarised itself."""
    return Turn(
        id=number, session="", scope=memory.scope, speaker=SPEAKER, role="user", text=memory.text,
        at=memory.valid_from,
    )  # fmt: skip


def conversations(memories: Sequence[Memory], gap: timedelta) -> list[list[Memory]]:
    """Group session summaries by conversation (silences below ``gap``), in time order."""
    healed: list[list[Memory]] = []
    for memory in sorted(memories, key=lambda m: (m.valid_from, m.id)):
        if healed and memory.valid_from - max(map(until, healed[-1])) < gap:
            healed[-1].append(memory)
        else:
            healed.append([memory])
    return healed


def _model(memory: Memory) -> str:
    return memory.made.model if memory.made else ""


def without_repeats(texts: Sequence[str]) -> list[str]:
    """Return texts without the sentences that an earlier one has; "" where nothing is left.

    A rule's summary of a week repeats those of its days. A speaker named before a sentence
    ("Anna: ...") or a day ("11 May: ...") stays with it.
    """
    seen, kept = set[str](), list[str]()
    for text in texts:
        parts, who, named, day = list[str](), "", "", ""
        for sentence in _BETWEEN.split(text):
            if dated := _DAY.match(sentence):
                who, named, day = "", "", dated[0]
                sentence = sentence[dated.end() :]
            if label := _SPEAKER.match(sentence):
                who, sentence = label["who"], sentence[label.end() :]
            words = fingerprint(sentence)
            if words and words not in seen:
                parts.append(f"{day}{who}: {sentence}" if who != named else f"{day}{sentence}")
                named, day = who, ""
            seen.add(words)
        kept.append(" ".join(parts))
    return kept
