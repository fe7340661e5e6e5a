"""Composed commands: free wordings, and sentences with the same words that are none."""

import re

import pytest

from slowcat_memory.core.commands import composition
from slowcat_memory.core.commands.composition import MAX_TOKENS, Utterance, compose
from slowcat_memory.core.commands.grammar import recognise
from slowcat_memory.core.language import LANGUAGES, language_of
from tests.support.rows import each_row

ENGLISH = {
    "off_record": (
        "can we keep this conversation private",
        "Let's talk privately for a minute.",
        "don't log anything for the next ten minutes",
        "What I'm going to say now shouldn't be stored.",
        "no notes please until I say so",
    ),
    "on_record": (
        "You're free to remember things again.",
        "start keeping notes again please",
        "Okay, private time's over.",
        "leave private mode",
        "resume taking notes thanks",
    ),
    "forget_that": (
        "take that last remark off your records",
        "Never mind what I just told you, delete it from your memory.",
        "pretend I never said that and wipe it",
        "Don't hold on to what I said just now.",
        "get rid of that last thing i said",
    ),
    "forget_about": (
        "Drop everything to do with the lawsuit.",
        "get rid of whatever you have about Tom",
        "I don't want you to remember anything about my debts.",
        "Everything concerning my divorce should be deleted.",
        "please scrub my address from your memory",
    ),
    "forget_span": (
        "delete everything from this morning",
        "Forget what we talked about yesterday.",
        "Wipe the past hour from your memory.",
        "please erase the last five minutes",
        "I want everything I said on Sunday deleted.",
    ),
    "forget_everything": (
        "wipe your memory",
        "Delete absolutely everything you have stored.",
        "I want you to forget everything.",
        "start over with an empty memory",
        "erase your entire memory please",
    ),
    "undo": (
        "please bring back what you just deleted",
        "I didn't mean to delete that, restore it please.",
        "put that note back",
        "No wait, un-delete that.",
        "can you reverse what you just did to your memory",
    ),
    "local": (
        "that's not to leave this house",
        "Keep what I told you about the will on this device.",
        "none of that goes to the cloud",
        "store that only locally",
        "Please don't upload anything about my health.",
    ),
    "what_known": (
        "Read me your notes about my mother.",
        "What information do you have stored on me?",
        "which things about our holiday have you saved",
        "tell me what you have noted about the garden",
        "Give me everything in your memory about Paul.",
    ),
    "remember": (
        "Please write down that the boiler was serviced in May.",
        "Make sure you remember that Tim is allergic to cats.",
        "for your records my new phone number ends in twelve",
        "Add to your memory that we have a new neighbour called Joe.",
        "I want you to keep in mind that my hip hurts in winter.",
    ),
    "shared": (
        "put it in the family notes that the milkman comes on Fridays",
        "Remember for everybody here that the alarm is on at ten.",
        "the stairs are freshly painted, remember that for the whole house",
        "add to the household memory that the fuse box is in the cellar",
        "For the family: note that Grandma's operation is on the fifth.",
    ),
    "correct": (
        "no you got that wrong her name is Nora",
        "You mixed that up, Peter is my uncle.",
        "you misheard me I said thirteen",
        "That's incorrect. The appointment is at nine.",
        "actually that's not right, he's a plumber",
    ),
}
GERMAN = {
    "off_record": (
        "lass uns mal privat reden",
        "Bitte nichts von dem behalten, was ich jetzt sage.",
        "Hör kurz auf, dir Notizen zu machen.",
        "die nächsten zehn minuten bitte nichts aufzeichnen",
        "Schalten Sie Ihr Gedächtnis bitte für eine Weile ab.",
    ),
    "on_record": (
        "So, jetzt kannst du wieder mitschreiben.",
        "schalt dein gedächtnis wieder ein",
        "Sie dürfen sich ab jetzt wieder alles merken.",
        "private zeit ist vorbei",
        "mach mit dem notieren weiter",
    ),
    "forget_that": (
        "Streich meinen letzten Satz.",
        "das was ich grade gesagt hab vergiss mal",
        "Tu so, als hätte ich das nie gesagt, und lösch es.",
        "Das soeben Erzählte bitte nicht speichern.",
        "Das muss wieder weg, was ich eben gesagt habe.",
    ),
    "forget_about": (
        "Lösch alles, was du über Thomas weißt.",
        "vergiss die sache mit dem führerschein",
        "Ich möchte, dass du alles über meine Krankheit löschst.",
        "alles was mit meiner scheidung zu tun hat soll weg",
        "Entfernen Sie bitte sämtliche Einträge zu meinem Sohn.",
    ),
    "forget_span": (
        "Vergiss alles von gestern.",
        "lösch die letzten fünf minuten",
        "Was ich heute Morgen erzählt habe, bitte löschen.",
        "streich den gestrigen abend aus deinem gedächtnis",
        "Alles von letzter Woche kann weg.",
    ),
    "forget_everything": (
        "Lösch dein ganzes Gedächtnis.",
        "vergiss einfach alles",
        "Ich will, dass du alles vergisst.",
        "alles löschen bitte komplett",
        "Leere dein Gedächtnis vollständig.",
    ),
    "undo": (
        "hol das gelöschte wieder zurück",
        "Ich will das wiederhaben, was du gelöscht hast.",
        "stell die notiz wieder her",
        "Das war ein Versehen, mach das rückgängig.",
        "Bitte wiederherstellen, was du eben gelöscht hast.",
    ),
    "local": (
        "schick nichts davon in die cloud",
        "Das darf dieses Haus nicht verlassen.",
        "Speicher das nur lokal.",
        "meine gesundheitsdaten bleiben hier auf dem gerät",
        "gib das an niemanden weiter",
    ),
    "what_known": (
        "Was hast du alles über meine Mutter gespeichert?",
        "zeig mir deine notizen zu meinem bruder",
        "Lies mir vor, was du über mich weißt.",
        "welche informationen hast du von mir gespeichert",
        "Sag mir, was du dir zum Garten gemerkt hast.",
    ),
    "remember": (
        "Merk dir: ich bin gegen Penicillin allergisch.",
        "schreib dir auf dass der müll am dienstag kommt",
        "Notieren Sie bitte, dass Frau Lenz angerufen hat.",
        "mein bruder heißt jetzt schmidt merk dir das mal",
        "speicher ab dass der hausarzt neu ist",
    ),
    "shared": (
        "Merk dir für die ganze Familie, dass morgen das Wasser abgestellt wird.",
        "speicher für alle dass der schlüssel bei meiers ist",
        "Schreib ins Familiengedächtnis, dass Papa Nachtschicht hat.",
        "die heizung ist kaputt, merk dir das für uns alle",
        "Notier für den ganzen Haushalt: donnerstags kommt die Putzhilfe.",
    ),
    "correct": (
        "Nein, du irrst dich, er heißt Jonas.",
        "das stimmt so nicht ich wohne in ulm",
        "Da liegst du falsch, der Termin ist um drei.",
        "Korrigier das bitte: sie ist Ärztin.",
        "du hast das verwechselt mein bruder wohnt in kiel",
    ),
}
LOOK_ALIKES = {
    "english": (
        "What did I tell you about the garden?",
        "Tell me what I said about the boat.",
        "Everything from the shop is stale.",
        "I want to delete my account.",
        "Can I have my pen back?",
        "She wants to forget everything that happened last week.",
        "Nothing I say ever matters to him.",
        "They never save anything for later.",
        "The doctor wrote down everything I told him yesterday.",
        "“Delete it from your memory”, he said.",
        "Ben, forget what I just said.",
        "Stop it, that's private.",
        "My memory isn't what it was.",
        "if I asked you to wipe your memory would you do it",
    ),
    "german": (
        "Ich hab vergessen, die Fotos zu löschen.",
        "Bring mir bitte das Buch zurück.",
        "Was weißt du über Vulkane?",
        "Bitte nicht vergessen, die Pflanzen zu gießen.",
        "Wie lange behältst du das eigentlich?",
        "Das Gespräch wird zu Schulungszwecken aufgezeichnet.",
        "Schreib bitte auf den Einkaufszettel: Milch und Butter.",
        "Merk dir das, Emil, man spielt nicht mit Feuer.",
        "Sie hat alle Fotos von ihm weggeworfen.",
        "Im Protokoll steht nichts davon.",
        "Weißt du noch, was wir am Sonntag besprochen haben?",
        "»Lösch das aus deinem Gedächtnis«, hat er gesagt.",
    ),
}
# Kinds that differ by a pause alone.
SIMILAR = {"undo": ("on_record", "forget_that"), "forget_that": ("off_record",)}
ALL = [
    (name, kind, sentence)
    for name, table in (("english", ENGLISH), ("german", GERMAN))
    for kind, sentences in table.items()
    for sentence in sentences
]


@each_row(("name", "kind", "sentence"), ALL)
def test_composition_a_free_wording_is_carried_out(name, kind, sentence):
    found = recognise(sentence, name)
    assert found is not None
    assert (found.kind, found.shared) == (("remember", True) if kind == "shared" else (kind, False))


@each_row(("name", "kind", "sentence"), ALL)
def test_composition_case_and_punctuation_make_no_difference_to_a_kind(name, kind, sentence):
    """Streaming recognisers write neither; a sentence may be lost by it, never be another one."""
    found = recognise(re.sub(r"[^\w\s']", "", sentence).lower(), name)
    wanted = "remember" if kind == "shared" else kind
    assert found is None or found.kind in (wanted, "confirm", *SIMILAR.get(wanted, ()))


@pytest.mark.parametrize("name", ["english", "german"])
def test_composition_look_alikes_are_conversation(name):
    taken = [one for one in LOOK_ALIKES[name] if recognise(one, name)]
    assert taken == []


@pytest.mark.parametrize("name", ["english", "german"])
def test_composition_without_what_speaks_against_it_takes_look_alikes(name, monkeypatch):
    """The look-alikes must be able to fail."""
    plain = composition._Slots.__call__
    against = ("veto", "question", "foreign", "third")
    blind = lambda slots, *names: (  # noqa: E731
        "addressed" in names or plain(slots, *(one for one in names if one not in against))
    )
    monkeypatch.setattr(composition._Slots, "__call__", blind)
    table = language_of(name).commands.composed
    assert any(compose(Utterance(one, table)) for one in LOOK_ALIKES[name])


@pytest.mark.parametrize(
    ("sentence", "kind", "argument"),
    [
        ("Everything concerning my divorce should be deleted.", "forget_about", "my divorce"),
        ("please scrub my address from your memory", "forget_about", "my address"),
        ("Wipe the past hour from your memory.", "forget_span", "the past hour"),
        ("delete everything from this morning", "forget_span", "this morning"),
        ("tell me what you have noted about the garden", "what_known", "the garden"),
        ("Please write down that the boiler was serviced in May.", "remember",
         "the boiler was serviced in May"),
        ("Keep everything regarding my medication on this machine.", "local", "my medication"),
    ],
)  # fmt: skip
def test_composition_arguments(sentence, kind, argument):
    found = recognise(sentence)
    assert found is not None and (found.kind, found.argument) == (kind, argument)


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda one: one.name)
def test_composition_every_language_has_every_slot(language):
    assert (
        language.commands.composed.slots.keys()
        == language_of("english").commands.composed.slots.keys()
    )
    assert language.commands.composed.compiled


@pytest.mark.parametrize("word", ["please ", "forget that ", "you can not store what i said "])
def test_composition_a_long_sentence_is_conversation(word):
    table = language_of("english").commands.composed
    assert compose(Utterance(word * MAX_TOKENS, table)) is None
