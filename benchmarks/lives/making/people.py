"""The words for relatives, partners and animals, in the forms that sentences need."""

from benchmarks.lives.making.builder import Builder

KIN_SLOTS = {
    "sister": "sister", "daughter": "daughter", "mother": "mother", "aunt": "aunt",
    "brother": "brother", "son": "son", "father": "father", "uncle": "uncle",
    "Schwester": "sister", "Tochter": "daughter", "Mutter": "mother", "Tante": "aunt",
    "Bruder": "brother", "Sohn": "son", "Vater": "father", "Onkel": "uncle",
}  # fmt: skip
_FEMALE = frozenset({"cat"})
_NOUNS = {"dog": "Hund", "cat": "Katze"}


def relative(b: Builder, is_woman: bool) -> tuple[str, dict[str, str]]:
    """Return the slot of a relative who was not named yet, and the words for them."""
    noun = b.value("kin_woman" if is_woman else "kin_man")
    if b.language == "en":
        return KIN_SLOTS[noun], {"kin": noun}
    article, dative = ("meine", "meiner") if is_woman else ("mein", "meinem")
    return KIN_SLOTS[noun], {"kin": f"{article} {noun}", "kin_dat": f"{dative} {noun}"}


def mate(b: Builder, is_woman: bool) -> dict[str, str]:
    """Return the words for a partner."""
    noun = b.some("mate_woman" if is_woman else "mate_man")
    if b.language == "en":
        return {"mate": noun}
    return {"mate": f"{'meine' if is_woman else 'mein'} {noun}"}


def animal(b: Builder, kind: str) -> dict[str, str]:
    """Return the words for a dog or a cat."""
    if b.language == "en":
        return {"animal": kind, "pet_it": "her" if kind in _FEMALE else "him"}
    noun, is_female = _NOUNS[kind], kind in _FEMALE
    forms = ("eine", "unsere", "meine", "meiner", "meine") if is_female else (
        "einen", "unser", "mein", "meinem", "meinen"
    )  # fmt: skip
    names = ("a_animal", "our_animal", "my_animal", "my_animal_dat", "my_animal_acc")
    return {name: f"{form} {noun}" for name, form in zip(names, forms, strict=True)}


def job(b: Builder, name: str, prefix: str = "") -> dict[str, str]:
    """Return a job with its article: "a nurse"; a German one has none."""
    if b.language == "de":
        return {f"{prefix}job": name}
    article = "an" if name[0] in "aeiou" else "a"
    return {f"{prefix}job": name, f"{'an_old' if prefix else 'a'}_job": f"{article} {name}"}
