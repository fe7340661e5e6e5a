"""What an LLM is asked about turns, and what is kept of its answer."""

import random
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from slowcat_memory.core.extraction.descriptions import (
    CONTEXT_WORDS,
    NOTE_WORDS,
    DescribedTurn,
    DescriptionsReply,
    build_prompt,
    check_reply,
)
from slowcat_memory.core.extraction.grounding import ground
from slowcat_memory.core.extraction.prompt_record import (
    AFTER,
    BEFORE,
    digest,
    groups,
    small_talk,
    windows,
)
from slowcat_memory.core.text.normalize import clean
from slowcat_memory.records import Turn
from tests.support.rows import each_listed, listed, listed_texts
from tests.support.said import turn

AT = datetime(2024, 3, 1, 18, tzinfo=UTC)


def talk(*lines: str, at: datetime = AT) -> list[Turn]:
    said = enumerate((line.split(": ", 1) for line in lines), 1)
    return [
        turn(clean(text)[0], speaker=who, id=n, at=at + timedelta(seconds=n))
        for n, (who, text) in said
    ]


TALK = talk(*listed_texts("rules/descriptions", "talk"))


def test_build_prompt_marks_where_another_day_begins():
    two = [*TALK, *talk("Ada: Good morning, the dentist was nice.", at=AT + timedelta(days=1))]
    text = build_prompt(two, [3], UTC, 800)
    assert (
        "[3] Ada: Tomorrow I am going to the dentist at nine.\n(Saturday 2024-03-02)\n[1]" in text
    )
    assert text.count("2024") == 2


@each_listed("rules/descriptions.jsonl")
def test_build_prompt_no_turn_breaks_out_of_the_record(payload):
    text = build_prompt(talk("Ada: Hello.", f"Bo: {payload}", "Ada: Bye."), [1], UTC, 800)
    lines = text.splitlines()
    assert len(lines) == 7, "a turn is one line"
    mark = lines[1].removeprefix("=== record ").removesuffix(" ===")
    assert text.count(mark) == 2, "the mark stands at both ends alone"
    inside = "\n".join(lines[2:5])
    assert not any(
        sign in inside for sign in ("<|", "|>", "</s>", "[INST]", "```", " system:", "\u202e")
    )


def keep(*turns: DescribedTurn, asked: tuple[int, ...] = (1, 3)):
    due = {one.id: one for one in TALK if one.id in asked}
    return check_reply(DescriptionsReply(list(turns)), due, ground(TALK, UTC))


BAD = [
    (why, DescribedTurn(int(turn), text, [asked] if asked else []))
    for why, turn, text, asked in listed("rules/descriptions", "bad answers")
]


@pytest.mark.parametrize(("why", "bad"), BAD, ids=[why for why, _ in BAD])
def test_check_reply_a_bad_answer_leaves_the_turn_missing(why, bad):
    found = keep(bad, DescribedTurn(3, "Ada tells Bo about her dentist."))
    assert set(found.found) == {3} and found.missing == (1,)


def test_check_reply_questions_are_few_and_differ():
    many = ["Who is Hugo?", "who is hugo", "Whose pet?", "Which pet?", "What lives there?"]
    found = keep(DescribedTurn(1, "Ada names her pet.", many))
    assert found.found[1].questions == ("Who is Hugo?", "Whose pet?", "Which pet?")


def test_check_reply_notes_are_few_short_and_say_what_was_said():
    notes = ["Ada keeps a tortoise. Bertil gave it to her.", "Ada keeps a tortoise.", "Hugo " * 50]
    found = keep(DescribedTurn(1, "", [], notes))
    assert found.found[1].notes == ("Ada keeps a tortoise.", " ".join(["Hugo"] * NOTE_WORDS))


GARDEN = talk(*listed_texts("rules/descriptions", "garden"))
TEXTS = {int(n): text for n, text in listed("rules/descriptions", "texts")}


def described(texts: dict[int, str], questions: list[str] | None = None):
    due = {one.id: one for one in GARDEN if one.id in TEXTS}
    entries = [DescribedTurn(id, text, questions or []) for id, text in texts.items()]
    return check_reply(DescriptionsReply(entries), due, ground(GARDEN, UTC), seen=GARDEN)


def test_check_reply_contexts_of_the_next_turn_are_asked_for_again() -> None:
    assert described(TEXTS).missing == ()
    for moved in ((3, 5, 7, 1), (7, 1, 3, 5)):
        found = described({id: TEXTS[other] for id, other in zip(TEXTS, moved, strict=True)})
        assert found.found == {} and found.missing == (1, 3, 5, 7)


def test_check_reply_a_long_context_ends_with_a_sentence() -> None:
    text = f"{TEXTS[1]} {'Ada says that Hugo the tortoise lives under the stairs and so on. ' * 3}"
    context = described(TEXTS | {1: text}).found[1].context
    assert context.endswith("and so on.") and len(context.split()) <= CONTEXT_WORDS


# ------------------------------------------------------------------- which turns stand in one prompt, and which have changed

TURNS = [turn(f"word{n}", id=n) for n in range(1, 9)]


def digests(turns: list[Turn]) -> list[str]:
    return [digest(1, turns, place, UTC) for place in range(len(turns))]


def test_digest_changes_with_a_turn_and_its_neighbours_alone():
    changed = [*TURNS]
    changed[4] = replace(changed[4], text="another")
    new = [
        n for n, (a, b) in enumerate(zip(digests(TURNS), digests(changed), strict=True)) if a != b
    ]
    assert new == list(range(4 - AFTER, 4 + BEFORE + 1))


@each_listed("rules/small_talk")
def test_small_talk_is_found_and_what_has_content_is_none(text, small):
    assert bool(small_talk(text)) is bool(small)


def test_windows_cover_everything_fit_and_overlap():
    dice = random.Random(7)
    for _ in range(200):
        sizes = [dice.randint(1, 60) for _ in range(dice.randint(1, 60))]
        room, shared = dice.randint(50, 300), dice.randint(0, 8)
        cut = list(windows(sizes, room, shared))
        assert set().union(*cut) == set(range(len(sizes)))
        assert all(len(one) == 1 or sum(sizes[n] for n in one) <= room for one in cut)
        assert all(
            a.start < b.start and a.stop <= b.stop for a, b in zip(cut, cut[1:], strict=False)
        )
        assert all(b.start <= a.stop for a, b in zip(cut, cut[1:], strict=False))


def test_groups_ask_about_every_turn_once_where_most_of_its_neighbours_are():
    dice = random.Random(8)
    for _ in range(200):
        sizes = [dice.randint(1, 60) for _ in range(dice.randint(1, 60))]
        stretches = list(windows(sizes, 200, 4))
        wanted = sorted(dice.sample(range(len(sizes)), dice.randint(0, len(sizes))))
        made = list(groups(wanted, stretches, 5))
        assert sorted(place for _, places in made for place in places) == wanted
        assert all(place in stretch for stretch, places in made for place in places)
        assert all(len(places) <= 5 for _, places in made)
        if len(stretches) == 1:
            assert len(made) == -(-len(wanted) // 5)
