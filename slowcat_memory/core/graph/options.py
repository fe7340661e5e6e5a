"""Options of telling entities apart. Apart from its code, as those of ``core.facts``."""

from typing import Annotated

from msgspec import Meta, Struct

SPELT = 0.87  # letters in common of two spellings of one name: "Nicolas", "Nicholas"


class DedupOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When two names are the same entity.

    Attributes:
        exact: Match equal names.
        fuzzy: Match spellings of one name.
        embedding: Match near vectors; never for people.
        rule: Match the same e-mail, telephone or number.
        fuzzy_at: Levenshtein similarity from which two words of a thing's name are spellings of
            one.
        person_at: The same for given names and surnames that are in no list of names; a little
            less is enough where they sound the same.
        whole_at: The same for whole names of things, where one word is misspelt.
        embedding_at: Cosine from which two names are the same.
    """

    exact: bool = True
    fuzzy: bool = True
    embedding: bool = True
    rule: bool = True
    fuzzy_at: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.83
    person_at: Annotated[float, Meta(ge=0.0, le=1.0)] = SPELT
    whole_at: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.85
    embedding_at: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.8
