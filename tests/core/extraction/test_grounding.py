"""Names, numbers and dates that nobody said."""

from datetime import UTC, datetime

import pytest

from slowcat_memory.core.extraction.grounding import ground, strays
from slowcat_memory.records import Turn


def said(*lines: str, at: datetime = datetime(2023, 5, 25, 13, tzinfo=UTC)) -> list[Turn]:
    turns = (line.split(": ", 1) for line in lines)
    return [
        Turn(session="s", scope="anna", speaker=who, role="user", text=text, at=at, id=n)
        for n, (who, text) in enumerate(turns, 1)
    ]


TALK = ground(
    said(
        "Anna: I ran a charity race last Saturday with my Swedish friend Bo.",
        "Melanie Berg: Great! I have been married for five years, we met in the UK.",
        "Anna: I bought three canoes for 90 euros. We go camping next month.",
        "Anna: My birthday is on 4 July.",
    ),
    UTC,
)


@pytest.mark.parametrize(
    "text",
    [
        "Anna tells Melanie that she ran a charity race on Saturday 2023-05-20",
        "Anna took part in a run for charity on 20 May 2023.",
        "Anna ran with Bo from Sweden around 19-21 May 2023.",
        "Melanie married about 2018 and met her husband in the United Kingdom.",
        "Anna's three canoes (boats) cost 90 euros; camping is planned for June 2023",
        "Anna says that she bought 3 canoes.",
        "Anna's birthday: July 4.",
        "Mel's friend was at the race in May.",
        "A canoe was bought. Camping follows.",
        "",
    ],
)
def test_strays_what_follows_from_a_conversation_passes(text):
    assert strays(text, TALK) == []


@pytest.mark.parametrize(
    ("text", "stray"),
    [
        ("Anna ran a race with Bertil.", ["Bertil"]),
        ("Bertil ran a race with Anna.", ["Bertil"]),
        ("Anna tells Melanie about the charity race of 2021-03-02.", ["2021-03-02"]),
        ("Anna was in a race in September 2021", ["September 2021"]),
        ("Anna bought 17 canoes.", ["17"]),
        ("Anna went to the Harvest Ball with Melanie.", ["Harvest", "Ball"]),
        ("Anna lived in the United States of old.", ["United", "States"]),
        ("Melanie was married in 1987.", ["1987"]),
        ("Anna says it was 99-99-2024-13-77.", None),
    ],
)
def test_strays_what_nobody_said_is_found(text, stray):
    found = strays(text, TALK)
    assert found == stray if stray is not None else found


def test_strays_nothing_is_judged_by_capitals_where_every_noun_has_one():
    talk = ground(said("Anna: wir waren im urlaub auf gomera"), UTC)
    assert strays("Anna erzählt von einer Reise auf die Kanaren: Strand und Sonne", talk) == []
    assert strays("Anna war 1987 auf Gomera", talk) == ["1987"]


def test_strays_a_date_counts_in_the_users_own_zone():
    late = said("Anna: the party is tonight", at=datetime(2023, 12, 31, 23, 30, tzinfo=UTC))
    assert strays("Anna has a party on 2023-12-31", ground(late, UTC)) == []
    assert strays("Anna has a party on 2023-12-12", ground(late, UTC)) == ["2023-12-12"]


def test_ground_names_numbers_and_dates_of_what_is_known_count_as_said():
    turns = said("Anna: My start is in two weeks, he has drawn the logo.")
    known = ("Northlight = Anna's new employer from 4 January 2023", "Joel = friend, 41 years old")
    text = "Anna starts at Northlight on 4 January 2023; Joel, 41, has drawn the logo."
    assert strays(text, ground(turns, UTC, known)) == []
    assert strays(text, ground(turns, UTC)) == ["4 January 2023", "41", "Northlight", "Joel"]
