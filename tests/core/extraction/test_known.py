"""What was known before a conversation: its lines in a prompt, and what counts as said by them."""

from datetime import UTC, datetime

from slowcat_memory.core.extraction.grounding import strays
from slowcat_memory.core.extraction.known import (
    Known,
    KnownLine,
    ground_with,
    known_lines,
    sources_used,
)
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


def test_a_month_or_a_weekday_is_no_name_that_an_earlier_turn_gave() -> None:
    fact = KnownLine("Mira plans the play on Saturday 25 March.", "", BEFORE, "fact/2", (2,))
    known = KNOWN.with_facts([fact])
    assert sources_used("Mira's start is on Saturday, 21 March.", TURNS, known) == ()
    assert sources_used("Mira's play is later.", TURNS, known) == ()


def test_a_name_without_room_is_no_stranger_and_nothing_else_of_its_line_is_said() -> None:
    bex = KnownLine("Bex Hollis, 44, of Leeds", "Bex Hollis", BEFORE, "", (2,))
    known = Known((HANA,), unshown=(bex,))
    ground = ground_with(TURNS, UTC, known)
    assert strays("Mira asks Bex Hollis.", ground) == []
    assert strays("Mira asks Bex, who is 44, about Leeds.", ground) == ["44", "Leeds"]
    assert "Bex" not in " ".join(known_lines(known, UTC)) and known.memories == ("fact/1",)
    assert sources_used("Mira asks Bex Hollis.", TURNS, known) == (2,)
