"""Word lists that several packages read, and the two functions that only look words up in them."""

import re

from slowcat_memory.core.text.normalize import STOP_WORDS

QUESTION_WORDS = "who|whom|whose|what|which|where|when|why|how"
AUXILIARIES = (
    "do|does|did|is|are|was|were|has|have|had|can|could|will|would|shall|should|may|might|must"
)
PRONOUNS = frozenset(
    """he him his she her hers they them their theirs it its that this those these there then one ones
    himself herself themselves""".split()
)
# Words that do not help to find anything.
EMPTY = STOP_WORDS | frozenset(
    """said say says tell told think thought know knew happen happened happens mean meant go went get
    got like also again more really still ever yes yeah yep no nope ok okay sure right well oh ah hm hmm um uh
    please thanks thank hi hello hey now next thing things something anything else too let lets us
    remind remember recall explain continue sorry again good great cool nice exactly much many way
    maybe actually course wait want make made give gave take took come came see saw look did else
    never always only one ones first last""".split()
)
ROLES = frozenset("user assistant agent bot system speaker human ai you me".split())  # never names
# Names that are also ordinary words: read as names only when capitalised.
COMMON = frozenset(
    """angel april art ash august autumn bill bob brook buck carol chance chase chip clay cliff daisy
    dale dash dawn dean destiny don drew earl eve faith fern flora forest frank gale gene ginger
    glen grace grant guy harmony harry hazel heath holly honor hope iris ivy jack jade jasmine jay
    jean jerry jewel joy june junior king lance lane lily mark marina mason may melody merry miles
    misty nick norm olive page pat patience pearl penny pepper peter poppy precious queen ray red
    reed rich rob robin rock rose ruby rusty sandy savannah serenity shelly sky skip stone stormy
    sue summer sunny ted terry tiffany tony trinity victor violet wade ward will willow winter wolf
    woody""".split()
)
ASKING = frozenset((*QUESTION_WORDS.split("|"), *AUXILIARIES.split("|"), "tell", "remind"))
WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_SENTENCE = re.compile(r"[^.!?…;。！？؟\n]+[.!?…;。！？؟]*")


def asking(text: str) -> list[str]:
    """Return the sentences that ask: by their question mark or, as STT may omit it, by their start."""
    sentences = (found.strip() for found in _SENTENCE.findall(text))
    return [
        one
        for one in sentences
        if one.endswith(("?", "？", "؟"))
        or ((first := WORD.search(one)) and first[0].lower().partition("'")[0] in ASKING)
    ]


def content_words(text: str) -> list[str]:
    """Return the distinct words of a text that are no pronoun, auxiliary or filler, in order."""
    return list(
        dict.fromkeys(
            word
            for word in WORD.findall(text)
            if (bare := word.lower().replace("’", "'").partition("'")[0]) not in EMPTY
            and bare not in PRONOUNS
        )
    )
