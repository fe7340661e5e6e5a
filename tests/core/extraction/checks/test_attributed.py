"""Whether a statement is about the person of whom its quote says it."""

from datetime import UTC, datetime

import pytest

from slowcat_memory.core.extraction.checks.attributed import wrong_subject
from slowcat_memory.records import Turn

AT = datetime(2026, 5, 12, 18, tzinfo=UTC)

# turn | quote | subject | right statement, or "!" and a wrong one
ENGLISH = """
my brother Felix is a baker and he's forty-one|he's forty-one|Felix|Felix is 41 years old.
my brother Felix is a baker and he's forty-one|he's forty-one|Mira|!Mira is 41 years old.
my brother Felix is a baker and he's forty-one|Felix is a baker|Mira|!Mira is a baker.
I told Petra I'm moving to Leeds in May|I'm moving to Leeds in May|Mira|Mira is moving to Leeds in May.
I told Petra I'm moving to Leeds in May|I'm moving to Leeds in May|Petra|!Petra is moving to Leeds in May.
Petra is moving to Leeds, so I get her bike|Petra is moving to Leeds|Petra|Petra is moving to Leeds.
Petra is moving to Leeds, so I get her bike|Petra is moving to Leeds|Mira|!Mira is moving to Leeds.
Petra is moving to Leeds, so I get her bike|I get her bike|Mira|Mira gets Petra's bike.
got the keys for the new flat on Friday|got the keys for the new flat|Mira|Mira got the keys for the new flat.
she's allergic to peanuts, my niece Lotte|she's allergic to peanuts|Lotte|Lotte is allergic to peanuts.
she's allergic to peanuts, my niece Lotte|she's allergic to peanuts|Mira|!Mira is allergic to peanuts.
my mum broke her wrist on the ice|my mum broke her wrist|Mira|!Mira broke her wrist.
my mum broke her wrist on the ice|my mum broke her wrist|Mira's mother|Mira's mother broke her wrist.
Dr Osei says I need new glasses|I need new glasses|Mira|Mira needs new glasses.
Dr Osei says I need new glasses|I need new glasses|Dr Osei|!Dr Osei needs new glasses.
he says it's a hernia, Dr Osei|he says it's a hernia|Mira|Mira has a hernia.
we're going to Crete with the Bakers in June|we're going to Crete|Mira|Mira is going to Crete in June.
Tom gave me his old camera|Tom gave me his old camera|Mira|Mira got an old camera from Tom.
Tom gave me his old camera|Tom gave me his old camera|Tom|Tom gave Mira his old camera.
I gave Tom my old camera|I gave Tom my old camera|Tom|Tom got Mira's old camera.
I lent Tom forty pounds|I lent Tom forty pounds|Tom|!Tom lent Mira 40 pounds.
Tom loves jazz, I can't bear it|Tom loves jazz|Tom|Tom loves jazz.
Tom loves jazz, I can't bear it|Tom loves jazz|Mira|!Mira loves jazz.
Tom loves jazz, I can't bear it|I can't bear it|Mira|Mira can't bear jazz.
my start is on the third of March|my start is on the third of March|Mira|Mira's start is on 3 March.
my start is on the third of March|my start is on the third of March|Tom|!Tom's start is on 3 March.
dad's appointment is at nine|dad's appointment is at nine|Mira|!Mira's appointment is at nine.
the dog hates fireworks, he hides in the bath|he hides in the bath|Mira|!Mira hides in the bath.
my daughter Ines wants to be a pilot|wants to be a pilot|Ines|Ines wants to be a pilot.
my daughter Ines wants to be a pilot|my daughter Ines wants to be a pilot|Mira|!Mira wants to be a pilot.
Ines passed her test and I'm so proud|Ines passed her test|Ines|Ines passed her test.
Ines passed her test and I'm so proud|Ines passed her test|Mira|!Mira passed her test.
I promised Ines I'd teach her to drive|I promised Ines I'd teach her to drive|Mira|Mira promised to teach Ines to drive.
I promised Ines I'd teach her to drive|I promised Ines I'd teach her to drive|Ines|!Ines promised to teach Mira to drive.
they made me head of the kitchen|they made me head of the kitchen|Mira|Mira is head of the kitchen.
vegan since January, would you believe|vegan since January|Mira|Mira has been vegan since January.
her name's Juno, the new kitten, and she's six weeks old|she's six weeks old|Juno|Juno is six weeks old.
her name's Juno, the new kitten, and she's six weeks old|she's six weeks old|Mira|!Mira is six weeks old.
my neighbour Mr Haddad plays the cello|my neighbour Mr Haddad plays the cello|Mr Haddad|Mr Haddad plays the cello.
my neighbour Mr Haddad plays the cello|Mr Haddad plays the cello|Mira|!Mira plays the cello.
I play the cello, Mr Haddad the piano|I play the cello|Mr Haddad|!Mr Haddad plays the cello.
I play the cello, Mr Haddad the piano|I play the cello|Mira|Mira plays the cello.
my salary is going up to thirty thousand|my salary is going up|Mira|Mira's salary is going up to 30,000.
Felix's wedding is in August in Ghent|Felix's wedding is in August|Felix|Felix's wedding is in August.
Felix's wedding is in August in Ghent|Felix's wedding is in August|Mira|!Mira's wedding is in August.
he works nights, Tom, poor thing|he works nights|Tom|Tom works nights.
I work nights now|I work nights now|Tom|!Tom works nights.
"""

GERMAN = """
mein Bruder Felix ist Bäcker und er ist einundvierzig|er ist einundvierzig|Felix|Felix ist 41 Jahre alt.
mein Bruder Felix ist Bäcker und er ist einundvierzig|er ist einundvierzig|Mira|!Mira ist 41 Jahre alt.
mein Bruder Felix ist Bäcker|Felix ist Bäcker|Mira|!Mira ist Bäcker.
ich ziehe im Mai nach Leipzig, hab ich Petra gesagt|ich ziehe im Mai nach Leipzig|Mira|Mira zieht im Mai nach Leipzig.
ich ziehe im Mai nach Leipzig, hab ich Petra gesagt|ich ziehe im Mai nach Leipzig|Petra|!Petra zieht im Mai nach Leipzig.
Petra zieht nach Leipzig, ich bleib hier|Petra zieht nach Leipzig|Petra|Petra zieht nach Leipzig.
Petra zieht nach Leipzig, ich bleib hier|Petra zieht nach Leipzig|Mira|!Mira zieht nach Leipzig.
am Montag fängt er bei Siemens an|am Montag fängt er bei Siemens an|Felix|Felix fängt am Montag bei Siemens an.
am Montag fängt er bei Siemens an|am Montag fängt er bei Siemens an|Mira|!Mira fängt am Montag bei Siemens an.
am Montag fange ich bei Siemens an|am Montag fange ich bei Siemens an|Mira|Mira fängt am Montag bei Siemens an.
am Montag fange ich bei Siemens an|am Montag fange ich bei Siemens an|Felix|!Felix fängt am Montag bei Siemens an.
meine Nichte Lotte ist gegen Nüsse allergisch|meine Nichte Lotte ist gegen Nüsse allergisch|Lotte|Lotte ist gegen Nüsse allergisch.
meine Nichte Lotte ist gegen Nüsse allergisch|Lotte ist gegen Nüsse allergisch|Mira|!Mira ist gegen Nüsse allergisch.
endlich die Schlüssel bekommen für die neue Wohnung|die Schlüssel bekommen für die neue Wohnung|Mira|Mira hat die Schlüssel für die neue Wohnung bekommen.
Tom liebt Jazz, ich kann das nicht hören|Tom liebt Jazz|Tom|Tom liebt Jazz.
Tom liebt Jazz, ich kann das nicht hören|Tom liebt Jazz|Mira|!Mira liebt Jazz.
mein Anfang ist am dritten März|mein Anfang ist am dritten März|Tom|!Toms Anfang ist am 3. März.
mein Anfang ist am dritten März|mein Anfang ist am dritten März|Mira|Miras Anfang ist am 3. März.
der Arzt sagt, ich brauche eine neue Brille|ich brauche eine neue Brille|Mira|Mira braucht eine neue Brille.
wir fahren im Juni nach Kreta|wir fahren im Juni nach Kreta|Mira|Mira fährt im Juni nach Kreta.
meine Tochter Ines will Pilotin werden|meine Tochter Ines will Pilotin werden|Ines|Ines will Pilotin werden.
meine Tochter Ines will Pilotin werden|Ines will Pilotin werden|Mira|!Mira will Pilotin werden.
sie ist sechs Wochen alt, die kleine Katze|sie ist sechs Wochen alt|Mira|!Mira ist sechs Wochen alt.
ich spiele Cello und Herr Haddad Klavier|ich spiele Cello|Mira|Mira spielt Cello.
ich spiele Cello und Herr Haddad Klavier|ich spiele Cello|Herr Haddad|!Herr Haddad spielt Cello.
Herr Haddad spielt Cello|Herr Haddad spielt Cello|Mira|!Mira spielt Cello.
seit Januar vegan, glaubst du das|seit Januar vegan|Mira|Mira ist seit Januar vegan.
Tom hat mir seine alte Kamera geschenkt|Tom hat mir seine alte Kamera geschenkt|Mira|Mira hat von Tom eine alte Kamera bekommen.
Tom hat mir seine alte Kamera geschenkt|Tom hat mir seine alte Kamera geschenkt|Tom|Tom hat Mira seine alte Kamera geschenkt.
ich habe Ines versprochen, ihr das Fahren beizubringen|ich habe Ines versprochen|Ines|!Ines hat Mira etwas versprochen.
er arbeitet nachts, der Tom|er arbeitet nachts|Tom|Tom arbeitet nachts.
ich arbeite jetzt nachts|ich arbeite jetzt nachts|Tom|!Tom arbeitet nachts.
"""

PEOPLE = ("Felix", "Petra", "Lotte", "Tom", "Ines", "Juno", "Mr Haddad", "Herr Haddad", "Dr Osei")


def shares(rows: str, change=str) -> tuple[float, float, list[str]]:
    """Return the shares of right statements kept and of wrong ones kept, and what went wrong."""
    count, bad = {True: [0, 0], False: [0, 0]}, list[str]()
    for row in rows.strip().splitlines():
        text, quote, subject, content = row.split("|")
        right = not content.startswith("!")
        turn = Turn(id=1, session="s", scope="m", speaker="Mira", role="user", text=change(text), at=AT)  # fmt: skip
        refused = wrong_subject(content.lstrip("!"), subject, change(quote), turn, PEOPLE)
        count[right][0] += 1
        count[right][1] += not refused
        if refused == right:
            bad.append(row)
    (n, kept), (m, wrong) = count[True], count[False]
    return kept / n, wrong / m, bad


@pytest.mark.parametrize("change", [str, str.lower])
@pytest.mark.parametrize("rows", [ENGLISH, GERMAN], ids=["english", "german"])
def test_a_fact_about_the_wrong_person_is_refused_and_a_right_one_kept(rows: str, change) -> None:
    kept, wrong, bad = shares(rows, change)
    assert kept >= 0.95 and wrong <= 0.10, "\n".join(bad)
