"""Whether the quoted words of a turn show a relation."""

from datetime import UTC, datetime

import pytest

from slowcat_memory.core.extraction.checks.quoted import Related, unrelated
from slowcat_memory.core.extraction.predicates import PREFERRED, canonical
from slowcat_memory.core.language import LANGUAGES
from slowcat_memory.records import Turn
from tests.support.rows import each_row

AT = datetime(2026, 5, 12, 18, tzinfo=UTC)

# turn | quote | subject predicate object; "!" before a wrong one
ENGLISH = """
I have to give notice to Gareth on Monday|I have to give notice to Gareth|!Gareth married_to Mira
Gareth and I got married in Rome|Gareth and I got married in Rome|Mira married_to Gareth
my husband Gareth snores|my husband Gareth snores|Gareth married_to Mira
my husband Gareth snores|my husband Gareth snores|Mira married_to Gareth
Hana's husband Piet is a cook|Hana's husband Piet is a cook|Hana married_to Piet
Hana's husband Piet is a cook|Hana's husband Piet is a cook|!Mira married_to Piet
Hana's husband Piet is a cook|Piet is a cook|Piet works_as cook
Hana's husband Piet is a cook|Piet is a cook|!Mira works_as cook
my sister Hana lives in Delft|my sister Hana lives in Delft|Hana lives_in Delft
my sister Hana lives in Delft|my sister Hana lives in Delft|!Mira lives_in Delft
my sister Hana lives in Delft|my sister Hana lives in Delft|Mira has_sister Hana
Tom's brother Otto fixed the roof|Tom's brother Otto fixed the roof|!Mira has_brother Otto
Tom's brother Otto fixed the roof|Tom's brother Otto fixed the roof|Tom has_brother Otto
I walked past the market in Headingley|I walked past the market in Headingley|!Mira lives_in Headingley
I've found a flat in Headingley|I've found a flat in Headingley|Mira lives_in Headingley
I start at Fernhill Dental in June|I start at Fernhill Dental in June|Mira works_at Fernhill Dental
I rang Fernhill Dental about my tooth|I rang Fernhill Dental about my tooth|!Mira works_at Fernhill Dental
Tom starts at Fernhill Dental in June|Tom starts at Fernhill Dental in June|!Mira works_at Fernhill Dental
Tom starts at Fernhill Dental in June|Tom starts at Fernhill Dental in June|Tom works_at Fernhill Dental
we've got a rabbit called Button|we've got a rabbit called Button|Mira has_pet Button
Petra's rabbit Button got out again|Petra's rabbit Button got out again|!Mira has_pet Button
Petra's rabbit Button got out again|Petra's rabbit Button got out again|Petra has_pet Button
I waved at the dog next door|I waved at the dog next door|!Mira has_pet dog
he's thirty-four and never cooks, Tom|he's thirty-four|Tom age thirty-four
he's thirty-four and never cooks, Tom|he's thirty-four|!Mira age thirty-four
I'm allergic to cats, not to dogs|I'm allergic to cats|Mira allergic_to cats
I'm allergic to cats, not to dogs|I'm allergic to cats, not to dogs|!Mira allergic_to horses
I can't stand olives|I can't stand olives|Mira dislikes olives
I can't stand olives|I can't stand olives|!Mira likes olives
Tom's mad about chess|Tom's mad about chess|Tom likes chess
Tom's mad about chess|Tom's mad about chess|!Mira likes chess
I don't live in Leeds any more|I don't live in Leeds any more|!Mira lives_in Leeds
you won't believe who I'm seeing, Jonas from the gym|who I'm seeing, Jonas from the gym|Mira has_partner Jonas
my ex-husband Leo rang about the boat|my ex-husband Leo rang|!Mira has_husband Leo
Ines is my daughter and she's at college in Hull|Ines is my daughter|Mira has_child Ines
Ines is my daughter and she's at college in Hull|she's at college in Hull|Ines studies_at Hull
Ines is my daughter and she's at college in Hull|she's at college in Hull|!Mira studies_at Hull
Petra is my oldest friend|Petra is my oldest friend|Petra friend_of Mira
Petra brought the post round|Petra brought the post round|!Petra friend_of Mira
I sing in a choir, the Larks|I sing in a choir, the Larks|Mira member_of Larks
the Larks gave a concert in town|the Larks gave a concert in town|!Mira member_of Larks
I bought a red Skoda|I bought a red Skoda|Mira owns red Skoda
he crashed his brother's Skoda|he crashed his brother's Skoda|!Mira owns Skoda
Fernhill Dental is in Otley|Fernhill Dental is in Otley|Fernhill Dental located_in Otley
"""

GERMAN = """
mein Mann Gerd schnarcht|mein Mann Gerd schnarcht|Mira married_to Gerd
ich muss dem Gerd noch kündigen|ich muss dem Gerd noch kündigen|!Gerd married_to Mira
meine Schwester Hana wohnt in Gera|meine Schwester Hana wohnt in Gera|Hana lives_in Gera
meine Schwester Hana wohnt in Gera|meine Schwester Hana wohnt in Gera|Mira has_sister Hana
meine Schwester Hana wohnt in Gera|meine Schwester Hana wohnt in Gera|!Mira lives_in Gera
ich war gestern in Gera einkaufen|ich war gestern in Gera einkaufen|!Mira lives_in Gera
ich wohne jetzt in Gera|ich wohne jetzt in Gera|Mira lives_in Gera
Tom fängt im Juni bei der Sparkasse an|Tom fängt im Juni bei der Sparkasse an|Tom works_at Sparkasse
Tom fängt im Juni bei der Sparkasse an|Tom fängt im Juni bei der Sparkasse an|!Mira works_at Sparkasse
ich war bei der Sparkasse wegen der Karte|ich war bei der Sparkasse wegen der Karte|!Mira works_at Sparkasse
ich arbeite bei der Sparkasse|ich arbeite bei der Sparkasse|Mira works_at Sparkasse
wir haben ein Kaninchen, Knopf heißt es|wir haben ein Kaninchen, Knopf heißt es|Mira has_pet Knopf
er ist vierunddreißig, der Tom|er ist vierunddreißig|Tom age vierunddreißig
er ist vierunddreißig, der Tom|er ist vierunddreißig|!Mira age vierunddreißig
ich bin gegen Katzen allergisch|ich bin gegen Katzen allergisch|Mira allergic_to Katzen
Tom ist gegen Katzen allergisch|Tom ist gegen Katzen allergisch|!Mira allergic_to Katzen
ich wohne nicht mehr in Gera|ich wohne nicht mehr in Gera|!Mira lives_in Gera
ich hasse Oliven|ich hasse Oliven|Mira dislikes Oliven
ich hasse Oliven|ich hasse Oliven|!Mira likes Oliven
ich spiele Geige im Orchester|ich spiele Geige|Mira plays Geige
Petra ist meine älteste Freundin|Petra ist meine älteste Freundin|Petra friend_of Mira
Petra hat die Post gebracht|Petra hat die Post gebracht|!Petra friend_of Mira
"""

PEOPLE = ("Gareth", "Gerd", "Hana", "Piet", "Tom", "Otto", "Petra", "Jonas", "Ines", "Leo", "Button", "Knopf")  # fmt: skip


@pytest.mark.parametrize("change", [str, str.lower])
@pytest.mark.parametrize("rows", [ENGLISH, GERMAN], ids=["english", "german"])
def test_a_wrong_relation_is_refused_and_a_right_one_kept(rows: str, change) -> None:
    right, wrong, bad = [], [], []
    for row in rows.strip().splitlines():
        text, quote, triple = row.split("|")
        words = triple.lstrip("!").split()
        at = next(n for n, word in enumerate(words) if "_" in word or word in PREFERRED)
        subject, predicate, object_ = " ".join(words[:at]), words[at], " ".join(words[at + 1 :])
        turn = Turn(id=1, session="s", scope="m", speaker="Mira", role="user", text=change(text), at=AT)  # fmt: skip
        one = Related(subject, canonical(predicate), predicate, object_, change(quote))
        kept = not unrelated(one, turn, PEOPLE)
        (wrong if triple.startswith("!") else right).append(kept)
        if kept == triple.startswith("!"):
            bad.append(row)
    assert sum(right) >= 0.95 * len(right) and sum(wrong) <= 0.1 * len(wrong), "\n".join(bad)


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda one: one.code)
def test_every_canonical_predicate_has_words_of_evidence(language) -> None:
    assert {canonical(one) for one in PREFERRED} <= language.persons.evidence.keys()


OF_NOTHING = """
I rang Fernhill Dental about my tooth|works_at Fernhill Dental
I walked past the market in Headingley|lives_in Headingley
I got the milk at Aldi|works_at Aldi
I bought a new fridge from Siemens|works_at Siemens
Tom drinks coffee all day|likes coffee
she spilled the coffee|dislikes coffee
Tom went over to Intel|works_at Intel
mein Bruder ist in Bremen gelandet|lives_in Bremen
die Waschmaschine ist von Bosch|works_at Bosch
"""


def _own(line: str) -> tuple[Related, Turn]:
    text, statement = line.split("|")
    predicate, _, object_ = statement.partition(" ")
    turn = Turn(
        id=1, scope="u", session="s", at=AT, role="user", speaker="Mira", text=text
    )  # fmt: skip
    return Related("Mira", predicate, predicate, object_, text), turn


@each_row("line", OF_NOTHING.strip().splitlines())
def test_what_shows_no_relation_is_none(line):
    one, turn = _own(line)
    assert unrelated(one, turn, ["Tom"])
