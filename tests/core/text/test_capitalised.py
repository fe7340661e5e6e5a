"""Names in German, where every noun has a capital."""

from slowcat_memory.core.text.capitalised import names
from tests.support.rows import each_row


@each_row(
    ("text", "expected"),
    [
        ("Sie fliegt im März mit der Schwester nach Lissabon.", ["Lissabon"]),
        ("Bertil holt das Auto aus der Werkstatt.", ["Bertil"]),
        ("Sie wohnt jetzt in Rossaveal.", ["Rossaveal"]),
        ("Frau Kowalski hat die Wohnung besichtigt.", ["Kowalski"]),
        ("Sie hat bei Northlight angefangen.", ["Northlight"]),
        ("Sabine Fischer ist die neue Chefin.", ["Sabine", "Fischer"]),
        ("Der Fischer flickt das Netz, der Becker ist krank.", []),
        ("Sie trifft sich mit Henderson im Büro.", ["Henderson"]),
        ("Ihr Freund Joel hat das Logo gezeichnet.", ["Joel"]),
        ("Er fährt mit Aylin nach Brighton.", ["Aylin", "Brighton"]),
        ("Dr. Becker operiert am Montag.", ["Becker"]),
        ("Sie hat ein Angebot von Zalando.", ["Zalando"]),
        ("Am 28. Oktober hat Hubertus Geburtstag.", ["Hubertus"]),
    ],
)
def test_names_of_german_texts(text: str, expected: list[str]) -> None:
    assert list(names(text)) == expected


@each_row(
    "text",
    [
        "Der Umzugswagen kommt erst gegen Mittag, weil der Fahrer im Stau steckt.",
        "Er hat einen Bandscheibenvorfall und darf drei Wochen lang nichts heben; Krankheit, Rückenschmerzen.",
        "Die Katze bekommt ein Schilddrüsenmedikament gegen die Überfunktion.",
        "Der Steuerberater hat die Umsatzsteuervoranmeldung vergessen, jetzt droht ein Säumniszuschlag.",
        "Bei der Taufe hält der Patenonkel eine Rede.",
        "Er backt Sauerteigbrot mit Roggenmehl und Kümmel.",
        "Die Hebamme sagt, dass das Kind in Steißlage liegt.",
        "Für die Radtour brauchen sie noch Packtaschen, Flickzeug und Regenjacken.",
        "Sie hat die Zusage für das Stipendium und zieht im Oktober ins Wohnheim.",
        "Die Gemeindebücherei schließt wegen Sanierung bis Ostern.",
        "Ein Marder hat die Zündkabel zerbissen; Auto, Werkstatt, Reparatur.",
        "Das Bewerbungsgespräch war per Video, drei Leute aus der Personalabteilung.",
        "Am Samstag schenkt ihm die Tante Blumen und Wein.",
        "Nach der Lesung gab es Sekt und Schnittchen.",
        "Die Physiotherapeutin zeigt ihm Übungen für das Knie.",
    ],
)
def test_names_nouns_are_none(text: str) -> None:
    assert list(names(text)) == []


def test_names_of_other_languages_are_left_to_others() -> None:
    assert list(names("She has met Bertil Lund, who lives there.")) == []
    assert list(names("Elle habite à Lisbonne avec Bertil.")) == []
