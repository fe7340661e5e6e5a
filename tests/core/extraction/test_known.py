"""What was known before a conversation: its lines in a prompt, and what counts as said by them."""

from datetime import UTC, datetime

from slowcat_memory.core.extraction.grounding import strays
from slowcat_memory.core.extraction.known import (
    KNOWN_NAMES,
    KNOWN_TOKENS,
    Known,
    KnownLine,
    ground_with,
    known_lines,
    limited,
    sources_used,
)
from slowcat_memory.core.text.normalize import estimate_tokens
from slowcat_memory.records import Turn

BEFORE, AT = datetime(2026, 3, 2, 18, tzinfo=UTC), datetime(2026, 5, 12, 18, tzinfo=UTC)
HANA = KnownLine("Hana: sister of Mira", "Hana", BEFORE, "fact/1", (3,))
FIRM = KnownLine(
    "Northlight: workplace of Mira from 2026-09-01", "Northlight", BEFORE, "fact/2", (5, 4)
)
LAST = KnownLine("Mira spoke about Whitby and 40 boats.", "", BEFORE, "session/1", (5, 6))
KNOWN = Known((HANA, FIRM), LAST)
TURNS = [
    Turn(id=9, session="s", scope="m", speaker="Mira", role="user", at=AT,
         text="she moves my start, it's later now")
]  # fmt: skip


def test_known_lines_show_names_the_last_conversation_and_dated_facts() -> None:
    fact = KnownLine("Mira has a boat.\n=== end of record ===", "", BEFORE, "fact/1", (2,))
    assert known_lines(KNOWN.with_facts([fact]), UTC) == [
        "Known from before:",
        "- Hana: sister of Mira",
        "- Northlight: workplace of Mira from 2026-09-01",
        "Last conversation (2026-03-02): Mira spoke about Whitby and 40 boats.",
        "Known already:",
        "- Mira has a boat. === end of record === (2026-03-02)",
    ]
    assert known_lines(Known(), UTC) == []


def test_what_known_lines_show_counts_as_said_and_nothing_else() -> None:
    ground = ground_with(TURNS, UTC, KNOWN)
    for text in (
        "Mira asks Hana about Northlight.",
        "It is about 1 September 2026 and Whitby.",
        "Mira has 40 boats.",
    ):
        assert strays(text, ground) == [], text
    assert strays("Mira asks Bex about Leeds.", ground) == ["Bex", "Leeds"]
    assert strays("Mira has 70 boats.", ground) == ["70"]
    assert ground_with(TURNS, UTC, Known()) == ground_with(TURNS, UTC, Known((), None, ()))


def test_a_text_depends_on_the_earlier_turns_whose_names_it_uses_and_on_no_others() -> None:
    assert sources_used("Mira's start at Northlight is later.", TURNS, KNOWN) == (5, 4)
    assert sources_used("Hana and Whitby", TURNS, KNOWN) == (3, 5, 6)
    assert sources_used("Mira's start is later.", TURNS, KNOWN) == ()
    named = [TURNS[0], *(Turn(id=8, session="s", scope="m", speaker="Mira", role="user", at=AT,
                              text="it is Northlight"),)]  # fmt: skip
    assert sources_used("Mira's start at Northlight is later.", named, KNOWN) == ()


def test_a_month_or_a_weekday_is_no_name_that_an_earlier_turn_gave() -> None:
    fact = KnownLine("Mira plans the play on Saturday 25 March.", "", BEFORE, "fact/2", (2,))
    known = KNOWN.with_facts([fact])
    assert sources_used("Mira's start is on Saturday, 21 March.", TURNS, known) == ()
    assert sources_used("Mira's play is later.", TURNS, known) == ()


def test_a_known_fact_is_not_shown_as_a_name_too() -> None:
    fact = KnownLine(HANA.text, "", BEFORE, HANA.memory, HANA.sources)
    assert KNOWN.with_facts([fact]) == Known((FIRM,), LAST, (fact,))
    assert set(KNOWN.memories) == {"fact/1", "fact/2", "session/1"}


def test_known_names_fit_their_room() -> None:
    many = [
        KnownLine(f"Name{n}: friend of Mira", f"Name{n}", BEFORE, f"f/{n}", (n,)) for n in range(40)
    ]
    assert len(limited(Known(tuple(many), LAST)).names) == KNOWN_NAMES
    long = [
        KnownLine("Anna is " + "very " * 30 + "tall.", f"N{n}", BEFORE, f"f/{n}", (n,))
        for n in range(40)
    ]
    few = limited(Known(tuple(long), LAST))
    assert (
        0 < len(few.names)
        and estimate_tokens("\n".join(known_lines(few, UTC))) <= KNOWN_TOKENS + 10
    )


def test_a_name_without_room_is_no_stranger_and_nothing_else_of_its_line_is_said() -> None:
    bex = KnownLine("Bex Hollis, 44, of Leeds", "Bex Hollis", BEFORE, "", (2,))
    known = Known((HANA,), unshown=(bex,))
    ground = ground_with(TURNS, UTC, known)
    assert strays("Mira asks Bex Hollis.", ground) == []
    assert strays("Mira asks Bex, who is 44, about Leeds.", ground) == ["44", "Leeds"]
    assert "Bex" not in " ".join(known_lines(known, UTC)) and known.memories == ("fact/1",)
    assert sources_used("Mira asks Bex Hollis.", TURNS, known) == (2,)
