"""Pairs of statements about one matter: the later changes the earlier in what is asked."""

from slowcat_memory.core.query.asked_facts import lacks_value
from tests.support.rows import each_row
from tests.support.wordings import revises

ENGLISH = """
My badminton is on Tuesday evenings. | Badminton has moved to Thursday evenings. | When is badminton?
The recital is on the fourth of June. | They've postponed the recital, it's the eleventh now. | when is the recital
I keep the ladder in the shed. | I've moved the ladder to the cellar. | Where is the ladder?
My bus pass costs forty pounds. | The bus pass has gone up to forty six. | How much is my bus pass?
I'm reading a book about glaciers. | I gave up on the glaciers book, I'm reading one on bees instead. | which book am i reading
We're having the party at the bowling alley. | We changed our minds, the party is at the lake. | Where is the party?
My locker number is 31. | My locker number is 88. | What's my locker number?
the window cleaner comes on monday | the window cleaner comes on wednesday | when does the window cleaner come
I train for the marathon with Gus. | I'm training for the marathon with Pia these days. | Who do I train for the marathon with?
My physio is in Mill Lane. | I switched to another physio, in Dock Road. | Where is my physio?
our landlord is a chap called bram | we have a new landlord called otis | what's our landlord called
I take two tablets in the morning. | The doctor changed it to three tablets. | How many tablets do I take?
The wedding is in Verona. | The wedding is in Siena instead. | Where's the wedding?
I drive a green van. | I sold the van and bought a small hatchback. | which van do i drive
My gym closes at nine. | The gym closes at ten now. | When does the gym close?
I play the cello on Sundays. | I quit the cello. | Do I still play the cello?
The parcel arrives on Friday. | The parcel has been delayed until Monday. | When does the parcel arrive?
the plumber charges fifty an hour | the plumber charges sixty an hour | what does the plumber charge
My hairdresser works in Baker Street. | My hairdresser has left Baker Street, she's in Elm Row. | Where does my hairdresser work?
My interview is at two o'clock. | My interview is at four o'clock. | When's my interview?
the spare key is with mrs lund | i got the spare key back from mrs lund, now it's with joe | who has the spare key
I'm learning Finnish with an app. | I've swapped the app for a Finnish teacher. | How do I learn Finnish?
Our holiday is booked for Crete. | We've cancelled Crete, our holiday will be in Wales. | Where is our holiday?
I share an office with Noor. | I'm in a different office, with Emil. | Who do I share an office with?
The roof repair will cost nine hundred. | The roof repair will cost twelve hundred. | what will the roof repair cost
My choir meets in the town hall. | Our choirs have merged and we now meet in the chapel. | where does my choir meet
the vet is on the high street | the vet moved out to the ring road | where's the vet
My deadline is 3 March. | My deadline is 17 March. | When is my deadline?
I sleep in the attic. | I no longer sleep in the attic, it's too hot. | where do i sleep in the attic
My mentor is Hanne. | I've been given a new mentor, Ruud. | Who is my mentor?
We meet for cards at Vera's. | We're going back to playing cards at ours. | Where do we meet for cards?
The rehearsal starts at seven. | They pushed the rehearsal back to eight. | when does the rehearsal start
"""
GERMAN = """
Mein Yogakurs ist am Dienstag. | Der Yogakurs ist jetzt am Freitag. | Wann ist mein Yogakurs?
Die Hochzeit ist in Bremen. | Die Hochzeit wurde nach Celle verlegt. | Wo ist die Hochzeit?
der gärtner kommt am montag | der gärtner kommt erst am mittwoch | wann kommt der gärtner
Meine Spindnummer ist 31. | Meine Spindnummer ist 88. | Wie ist meine Spindnummer?
Ich fahre mit der Linie 4 zur Arbeit. | Ich fahr ab sofort mit der 9. | Womit fahre ich?
Das Umzugsauto kommt am Samstag. | Der Umzug ist verschoben. | Wann kommt das Umzugsauto?
Ich trainiere mit Gustav für den Lauf. | Für den Lauf trainiere ich nicht mehr mit Gustav. | mit wem trainiere ich für den lauf
Die Leiter steht im Schuppen. | Die Leiter steht jetzt im Keller. | wo steht die leiter
die miete kostet sechshundert euro | die miete ist auf siebenhundert gestiegen | wie viel kostet die miete
Mein Fahrlehrer heißt Bruno. | Ich hab einen neuen Fahrlehrer, den Kurt. | Wie heißt mein Fahrlehrer?
Das Fest ist im Garten. | Das Fest findet doch im Saal statt. | Wo ist das Fest?
Ich lerne Finnisch mit einer App. | Finnisch lerne ich inzwischen bei einer Lehrerin. | Womit lerne ich Finnisch?
Der Zahnarzt ist in der Mühlgasse. | Ich habe den Zahnarzt gewechselt. | Wo ist der Zahnarzt?
Unser Urlaub geht nach Kreta. | Unser Urlaub geht stattdessen nach Rügen. | wohin geht unser urlaub
Ich nehme zwei Tabletten am Tag. | Ich nehme drei Tabletten am Tag. | Wie viele Tabletten nehme ich?
das paket kommt am donnerstag | das paket kommt doch am samstag | wann kommt das paket
Ich spiele Cello. | Mit dem Cello hab ich aufgehört. | Spiele ich noch Cello?
Der Schlüssel liegt bei Frau Lund. | Der Schlüssel liegt nun bei Jochen. | Wo liegt der Schlüssel?
Ich hab einen alten Kombi. | Den Kombi hab ich verkauft. | Welchen Kombi habe ich?
Meine Prüfung ist am dritten März. | Meine Prüfung wurde verschoben auf den siebten. | Wann ist meine Prüfung?
Das Training beginnt um sieben. | Das Training beginnt um neun. | wann beginnt das training
der friseur kostet zwanzig euro | der friseur kostet dreißig euro | was kostet der friseur
Mein Büro ist im ersten Stock. | Mein Büro ist umgezogen, in den vierten. | Wo ist mein Büro?
Ich will einen Dackel kaufen. | Ich kauf doch lieber keinen Dackel. | Will ich einen Dackel kaufen?
Die Probe ist mittwochs. | Die Probe ist donnerstags. | wann ist die probe
Ich wohne im Turmzimmer. | Ich wohne nicht mehr im Turmzimmer. | Wohne ich im Turmzimmer?
Mein Vermieter ist Herr Brandt. | Statt Herrn Brandt ist jetzt Frau Kern mein Vermieter. | Wer ist mein Vermieter?
Das Konzert ist in der Scheune. | Das Konzert ist abgesagt. | Wo ist das Konzert?
ich koche freitags für die gruppe | ich koche jetzt sonntags für die gruppe | wann koche ich für die gruppe
Der Kredit läuft bis 2031. | Der Kredit läuft bis 2034. | Bis wann läuft der Kredit?
Der Hausmeister heißt Ole. | Wir haben einen anderen Hausmeister, der heißt Paul. | Wie heißt der Hausmeister?
Die Heizung wird am Montag repariert. | Die Heizung wird erst im Mai repariert. | wann wird die heizung repariert
"""
PAIRS = [
    (*(part.strip() for part in line.split("|")), language)
    for language, lines in (("english", ENGLISH), ("german", GERMAN))
    for line in lines.strip().splitlines()
]


def test_there_are_at_least_sixty_pairs() -> None:
    assert len(PAIRS) >= 60


@each_row("lower", [False, True])
@each_row(("older", "newer", "query", "language"), PAIRS)
def test_a_later_statement_changes_the_earlier_one(
    older: str, newer: str, query: str, language: str, lower: bool
) -> None:
    if lower:
        older, newer, query = older.lower(), newer.lower(), query.lower()
    assert revises(newer, older, query, language)
    assert not revises(newer, older, "who painted the piano and the pump", language)


@each_row(
    ("older", "newer", "query", "language"),
    [
        ("The movers come on Monday.", "My interview is on Friday.", "When do the movers come?", "english"),
        ("My locker number is 31.", "My locker number is 31.", "What's my locker number?", "english"),
        ("I took the bus to Ely.", "I now take the bus to York.", "When did I take the bus?", "english"),
        ("Die Feier war im Mai.", "Die Feier ist jetzt im Juni.", "Wie war die Feier?", "german"),
        ("I like the park.", "The park was lovely today.", "Which park do I like?", "english"),
        ("The vet is in Elm Row.", "The vet said she weighs four kilos.", "Where's the vet?", "english"),
        ("Die Probe ist mittwochs.", "Die Probe war schön.", "Wann ist die Probe?", "german"),
        ("Die Miete ist hoch.", "Ich hab jetzt drei Katzen.", "Wie hoch ist die Miete?", "german"),
    ],
)  # fmt: skip
def test_other_matters_and_the_same_value_change_nothing(
    older: str, newer: str, query: str, language: str
) -> None:
    assert not revises(newer, older, query, language)


@each_row(
    ("query", "text", "language", "missing"),
    [
        ("How much does the ramp cost?", "We're getting a ramp put in.", "english", 1.0),
        ("how much does the ramp cost", "the ramp is ninety pounds", "english", 0.0),
        ("How many aunts does Linda have?", "My cousin Linda sells boats.", "english", 1.0),
        ("How many aunts does Linda have?", "Linda's aunt is called Jo.", "english", 0.0),
        ("What time does the library close?", "I like our library.", "english", 1.0),
        ("When did I buy the kayak?", "I bought a kayak.", "english", 0.0),
        ("How much does a blue whale weigh?", "Whales are big.", "english", 0.0),
        ("Wie viel kostet die Rampe?", "Wir bauen eine Rampe.", "german", 1.0),
        ("wie viel kostet die rampe", "die rampe kostet neunzig euro", "german", 0.0),
        ("Wann ist das Sommerfest?", "Das Sommerfest wird schön.", "german", 1.0),
        ("wann ist das sommerfest", "das sommerfest ist am samstag", "german", 0.0),
    ],
)
def test_a_question_for_a_value_is_not_answered_without_one(
    query: str, text: str, language: str, missing: float
) -> None:
    assert lacks_value(query, [text], language) == missing


def test_a_value_of_something_else_counts_less() -> None:
    assert 0 < lacks_value("How much is the ramp?", ["Bob is forty."], "english") < 1
