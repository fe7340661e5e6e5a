"""Facts of notes: what a user asked to keep, or another program wrote down, read by rule.

Notes are in no session, so the job ``facts`` does not meet them. A fact of a note names the note as
its origin: forgetting the note deletes it, and recall finds the note, not the fact.
"""

from collections.abc import Iterable, Iterator
from datetime import tzinfo

from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.facts.fact import ExtractedFact, fact_id, fact_memory
from slowcat_memory.core.facts.prompt import facts_by_rule
from slowcat_memory.core.language import LANGUAGES, Language
from slowcat_memory.core.memory import FACT, NOTE
from slowcat_memory.core.text.normalize import fold
from slowcat_memory.idle.job import JobContext, Needs, NoOptions, Plan, Trigger
from slowcat_memory.idle.jobs.changed_scopes import plan_changed
from slowcat_memory.idle.jobs.extraction.facts import merge_task
from slowcat_memory.records import Made, Memory, Task, Turn, WriteBatch

MOST_WORDS = 40  # of a note that is tried in the first person
NAME, VERSION, RANK = "note_facts", 1, 46


class NoteFacts:
    """The job; see ``idle.job.Job``."""

    name = NAME
    version = VERSION
    needs: Needs = "nothing"
    trigger = Trigger(session_end=True, every_s=300.0)
    Options: type[Struct] = NoOptions

    def plan(self, context: JobContext) -> Plan | None:
        """Plan a task for each namespace that changed."""
        with context.snapshot() as snapshot:
            return plan_changed(NAME, str(VERSION), f"{FACT}/", (NOTE,), RANK, snapshot, context)

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        """Write the facts of current notes that are not there yet; retire those of former notes."""
        with context.snapshot() as snapshot:
            notes = list(snapshot.memories(task.scope, f"{NOTE}/"))
            facts = snapshot.memories(task.scope, f"{FACT}/") if notes else ()
            known = {one.id: one for one in facts}
        current = [one for one in notes if one.retired_at is None]
        new = {one.id: one for one in _facts(current, context) if one.id not in known}
        gone = {(one.scope, one.id) for one in notes if one.retired_at is not None}
        retired = [
            replace(one, retired_at=context.now)
            for one in known.values()
            if one.retired_at is None
            and not gone.isdisjoint(one.derived_from)
            and (one.made is not None and one.made.job == NAME)
        ]
        made = list(new.values())
        return WriteBatch(
            memories=(*made, *retired), tasks=(merge_task(made, context),) if made else ()
        )


def _facts(notes: Iterable[Memory], context: JobContext) -> Iterator[Memory]:
    made = Made(job=NAME, version=VERSION)
    for note in notes:
        for drawn in facts_of_note(note, context.zone):
            fact = fact_memory(drawn, context.now, made, local_only=note.local_only)
            yield replace(
                fact,
                id=fact_id(note.scope, f"{note.id} {fact.text}", 0),
                derived_from=((note.scope, note.id),),
                local_inherited=note.local_only,
            )


def facts_of_note(note: Memory, zone: tzinfo) -> list[ExtractedFact]:
    """Return the facts that the rules read in a note; their turn is the note, and they quote it."""
    for text in (note.text, *dict.fromkeys(_first_person(note))):
        turn = Turn(
            session="", scope=note.scope, speaker=note.speaker, role="user", text=text,
            at=note.valid_from,
        )  # fmt: skip
        if found := facts_by_rule(turn, zone):
            return [replace(one, quote=note.text, sources=note.sources) for one in found]
    return []


def _first_person(note: Memory) -> Iterator[str]:
    for language in LANGUAGES:
        words = _without_subject(note, language).split()
        if not 2 <= len(words) <= MOST_WORDS:
            continue
        verb, rest = words[0].lower(), " ".join(words[1:])
        yield f"{language.noted.i} {_conjugated(verb, language)} {rest}"
        for my in language.noted.mine:
            yield f"{my} {verb} {rest}"


def _without_subject(note: Memory, language: Language) -> str:
    """Return a note without the words for the user at its beginning."""
    for subject in (note.speaker, *language.noted.subjects):
        for after in ("'s ", "’s ", " "):
            if fold(note.text).startswith(fold(subject) + after):
                return note.text[len(subject) + len(after) :]
    return note.text


def _conjugated(verb: str, language: Language) -> str:
    """Return a verb of the third person in the first; a verb in the first person stays."""
    if known := dict(language.noted.verbs).get(verb):
        return known
    ends = ((ending, own) for ending, own in language.noted.endings if verb.endswith(ending))
    ending, own = next(ends, ("", ""))
    return verb.removesuffix(ending) + own
