"""English talk that says nothing by itself."""

import re

from slowcat_memory.core.language.data import lazy_pattern, read_words, word_set
from slowcat_memory.core.language.english.gate import GATE
from slowcat_memory.core.language.english.vocabulary import PRONOUNS
from slowcat_memory.core.language.table import TalkWords

_BE = r"(?:is|are|was|were|am|isn't|aren't|wasn't|weren't)"
_DO = (
    r"(?:do|does|did|don't|doesn't|didn't|have|has|had|haven't|hasn't|can|can't|could|couldn't|"
    r"will|won't|would|wouldn't|should|shouldn't|may|might|must|shall)"
)
_ASKS = r"(?:what|who|whom|whose|which|where|when|why|how)"
_SOMEBODY = r"(?:i|you|he|she|it|we|they|there|this|that|these|those|my|our|your|his|her|their|the)"
_I = r"(?:i|we)(?:'m|'re|'ve|'d)?"
_AGE = (
    r"(?:(?:best|new|older|younger|little|big|elder|eldest|oldest|youngest|twin|current|own|closest|"
    r"old|dear|lovely|first|only|latest) )*"
)


def _doing(verbs: str) -> str:
    """Return a pattern of a question for what the user does: "which city am I living in"."""
    return rf"\b{_I} (?:\w+ ){{0,3}}?(?:{verbs})\b"


def _own(nouns: str) -> str:
    """Return a pattern of a question for what is the user's: "what's my current job"."""
    of = rf"\b(?:my|our) (?:\w+ ){{0,2}}?(?:{nouns})\b(?!'s| is on| on )"
    had = rf"\b(?:what|which|any|whose) (?:\w+ ){{0,2}}?(?:{nouns})\b.*\b{_I}\b"
    return rf"{of}|{had}"


TALK = TalkWords(
    empty=GATE.small | word_set(read_words(__package__)["extracts"]["function"] + " remember"),
    persons=word_set(
        "i i'm i've i'd i'll me my we we're we've our us he she they him his her their"
    ),
    question=lazy_pattern(
        rf"(?:(?:so|and|but|or|then|now|well|hey|ok|okay|please|also|by the way) )*"
        rf"(?:{_ASKS}(?:'s|'re| {_BE}\b| {_DO}\b)|"
        rf"(?:what|which|whose|how) (?:\w+ ){{1,3}}(?:{_BE}|{_DO})\b (?:{_SOMEBODY})\b|"
        rf"(?:{_BE}|{_DO}) {_SOMEBODY}\b|"
        rf"(?:can you |could you |please |would you )*(?:tell|remind) me (?:again |once more |please )*"
        rf"(?:{_ASKS}|if|whether|about|my|our)\b|"
        rf"(?:do|did|can) you (?:still )?(?:know|remember|recall)\b)"
    ),
    tells_first=word_set("i we i'm we're i've we've i'll we'll"),
    telling=lazy_pattern(
        r"\b(?:(?:did|have) (?:i|we) (?:ever |already )?(?:tell|told|mention|mentioned)(?: to)?(?: you)?"
        r"|did you (?:know|hear|notice)|have you heard|do you know) (?:that\b|(?:i|we) \w+|(?:my|our) "
        r"[\w' ]*?\b(?:is|was|has|had|got|will|are|were|just|broke|left|died|moved)\b)|"
        r"\b(?:can|could|would) you (?:believe|imagine)\b|\bguess what\b|"
        r"\b(?:can|could|would|will) you (?:please )?(?:remind me to|note|write down|remember that|"
        r"keep in mind)\b|\bremind me to\b"
    ),
    asks_name=lazy_pattern(r"\b(?:called|named?|names|who|who's)\b"),
    about_people=lazy_pattern(
        r"\b(?:i|my|mine|(?<!tell )(?<!give )(?<!show )me|we|our|(?<!tell )(?<!give )(?<!show )us|"
        r"you (?:told|said|say|mention\w*|recommend\w*|suggest\w*))\b"
    ),
    ignorance=lazy_pattern(
        r"\b(?:i|we) (?:really |still |just |also |actually |honestly |currently )*(?:(?:don't|do not|"
        r"can't|cannot|couldn't|could not|didn't|did not|haven't|have not|am not|wasn't) (?:\w+ ){0,3}?"
        r"(?:know|remember|recall|find|have|see|tell|access|check|look|sure|aware|heard|got|hear|"
        r"catch|understand|able)|have no|had no|lack)\b|\bi'm (?:really |still )?(?:not (?:\w+ )?"
        r"(?:sure|certain|aware|able)|afraid|unable|unsure)\b|\bi am (?:unable|unsure|afraid)\b|"
        r"\byou (?:still |just )?(?:haven't|have not|didn't|did not|never|hadn't) (?:yet |actually |"
        r"ever )?(?:told|tell|mention|mentioned|said|say|share|shared|given|give)\b|"
        r"\b(?:no|any) (?:idea|clue|memory|memories|record|records|information|details|note|notes) "
        r"(?:of|about|on|for|that|what|who|where|when)\b|\bnothing (?:is |was )?(?:stored|noted|saved|"
        r"remembered|recorded|in my memory|about that)\b|\b(?:wasn't|was not|isn't|is not) "
        r"(?:mentioned|stored|in my (?:memory|notes))\b"
    ),
    no_answer=lazy_pattern(
        r"(?:(?:sorry|well|hm+|um+|uh+|oh|no|honestly|actually|but|and) )*(?:i (?:really |still |just )*"
        r"(?:don't|do not|can't|cannot) (?:know|remember|recall|say|tell)|i'm not (?:really )?sure|"
        r"i am not sure|not sure|no idea|no clue|i have no (?:idea|clue)|i forgot|i forget|"
        r"i've forgotten|hard to say|who knows)"
        r"(?: (?:that|it|either|yet|right now|now|anymore|any more|sorry|really|exactly|again|though))*"
    ),
    change=lazy_pattern(
        r"\b(?:now|instead|actually|after all|turns out|correction|(?:no|not any) (?:longer|more)|"
        r"any ?more|moved|postponed|rescheduled|changed|switched|swapped|replaced|cancelled|canceled|"
        r"called off|push(?:ed)? (?:\w+ ){0,3}?(?:back|to|forward)|brought forward|delayed)\b"
    ),
    renewal=lazy_pattern(
        r"\b(?:nowadays|these days|turned out|scratch that|moving|chang(?:e|ing)|switch(?:ing)?|swap|"
        r"(?:moved|put) (?:\w+ ){0,3}?forward|put (?:\w+ ){0,3}?(?:off|back)|pushed|shifted|new|"
        r"from now on|as of|since then|went back|gone back|back|quit|left|sold|gave up|given up|"
        r"got rid of|traded|upgraded|downgraded|transferred|promoted|gone up|gone down|went up|went "
        r"down|raised|lowered|ended up|decided against|rather than|changed (?:my|our) minds?|split up|"
        r"broke up|is off|fell through|fallen through|extended|another|different)\b"
    ),
    asked=(
        (
            "lives_in address",
            _doing("live|lives|(?<!a )living|lived|reside|residing|based|settled|staying"),
            r"\bwhere(?:'s| is) (?:home|my (?:home|flat|house|place|apartment))\b",
            _own("home ?town|address|city|town|home city|place of residence|new home"),
            r"\b(?:which|what) (?:city|town|country|place|street|area|part of town) .*\b(?:i|we|my|our)\b"
            r"(?! (?:go|went|visit\w*|travel\w*|fly|flew|see|saw|been))",
        ),
        (
            "works_at works_for",
            r"\b(?:where|who|which (?:company|firm|place|employer)|what (?:company|firm)).*\bi(?:'m)? "
            r"(?:\w+ ){0,2}?(?:work|works|working|worked|employed)\b|\bwho (?:employs|pays) me\b",
            _own("employer|company|firm|workplace"),
        ),
        (
            "works_as works_at",
            r"\bwhat do i do(?:\?|$| for (?:a living|work)| at work| professionally| all day| job)|"
            r"\bwhat do i work as\b|\bhow do i (?:earn|make) (?:a|my) (?:living|money)\b",
            _own(
                "role at work|day job|job|profession|occupation|trade|career|position|line of work"
            ),
        ),
        (
            "has_partner married_to has_husband has_wife has_spouse has_boyfriend has_girlfriend "
            "engaged_to dating relationship_status",
            _doing("dating|seeing|together with|going out|married to|engaged to|in a relationship"),
            r"\bam i (?:still )?(?:single|married|engaged|taken|seeing anyone)\b",
            _own("partner|other half|better half|significant other|love life|relationship"),
        ),
        (
            "diet allergic_to",
            r"\b(?:am i|if i'm|whether i'm) (?:still |a |on a )*(?:vegan|vegetarian|gluten|veggie|pescatarian"
            r"|diet)\b|\bwhat.*\bi (?:\w+ )?eat\b|\b(?:what|anything|foods?).*\b(?:i (?:can't|cannot|don't|shouldn't|should avoid|may not|avoid) "
            r"?(?:eat\w*|have|touch)?|off limits|agree with me)\b",
            _own("diet|dietary|eating habits|food rules|food|nutrition|intolerances?"),
        ),
        (
            "allergic_to",
            r"\ballerg(?:ic|y|ies).*\b(?:i|my|me)\b|\b(?:i|my)\b.*\ballerg|\b(?:am i|i'm) intolerant|"
            r"\bwhat (?:can't|shouldn't|must|should|do) i (?:not )?(?:eat|touch|have|avoid)\b|\bagree with me\b",
        ),
        ("favourite_{thing}", r"\bmy favou?rite (\w+)"),
        (
            "has_{thing}",
            r"^(?!.*\b(?:did|were|had)\b)(?:.*\b(?:i|we|my|our)\b (?:\w+ ){0,3}?(dog|cat|pet)s?\b(?!'s (?!name))|"
            r".*\b(?:which|what|any) (?:\w+ ){0,2}?(dog|cat|pet)s?\b.*\b(?:i|we|me|us|mine)\b)",
        ),
        (
            "has_{thing}",
            rf"\b(?:what(?:'s| is| was| are| were)|who(?:'s| is| was| are)|do you know|tell me|remember|remind me|know|how is) "
            rf"(?:again )?(?:what |who )?(?:the name of )?(?:my|our) {_AGE}([\w-]+)(?:'s name| is called| called"
            rf"| again| named|\??$)|\bnames? of (?:my|our) {_AGE}([\w-]+)|\b(?:my|our) {_AGE}([\w-]+)'s? name"
            rf"|\b(?:call|called|name) (?:my|our) {_AGE}([\w-]+)\??$|\b(?:do|have) (?:i|we) (?:have|got|own|keep) (?:a|an|any) "
            rf"([\w-]+)\??$|\bmy ([\w-]+)'s "
            rf"called\b|\b(?:what|which|how many|any) ([\w-]+) (?:do|have) (?:i|we)\b",
        ),
    ),
    asking=lazy_pattern(
        r"\b(?:who|who's|whom|whose|what|what's|which|where|where's|when|when's|how|how's|do|does|did|have|"
        r"has|had|am|are|is|was|any|anything|if|whether|names? of|remind me|tell me|remember|know)\b"
    ),
    former=lazy_pattern(
        r"\b(?:before|used to|previous\w*|former\w*|earlier|prior|old (?:job|home|flat|employer|company|"
        r"address|city|town|car|phone|boss)|last (?:job|home|flat|employer|company))\b"
    ),
    ahead=lazy_pattern(
        r"\bwhen(?:'s| is| are| am| do| does| will|'m)\b|\b(?:what|which) (?:day|date|time|week)\b|"
        r"\bhow (?:long|many \w+) (?:until|till|to)\b|\b(?:do|have) (?:i|we) (?:\w+ ){0,3}?(?:planned|plans?|"
        r"appointments?|on|coming up|lined up|ahead|scheduled)\b|\b(?:what's|what is|what have (?:i|we)|"
        r"what do (?:i|we) have|anything|what are|what|what'll) (?:\w+ ){0,3}?(?:coming up|next|planned|plans|ahead|"
        r"lined up|scheduled|on my (?:calendar|agenda|schedule)|on (?:this|next|tomorrow|today|the))\b|"
        r"\bmy (?:next|upcoming) \w+|\banything (?:\w+ )?(?:planned|on|coming up)\b|\bremind me (?:\w+ )?when\b"
    ),
    when=lazy_pattern(r"\b(?:when|(?:what|which) (?:day|date|time|week)|how (?:long|many))\b"),
    ahead_words=lazy_pattern(
        r"\b(?:when|when's|day|days|date|time|week|weeks|weekend|month|next|upcoming|coming|up|planned|"
        r"plans?|ahead|lined|scheduled|schedule|calendar|agenda|appointments?|anything|remind|until|till|"
        r"again|going|take|place|happening|happen|due|booked|today|tomorrow|soon|start|tonight)\b"
    ),
    values=lazy_pattern(
        r"\bhow many (?P<counted>[\w-]+)",
        r"\bhow (?:much|old|tall|big|long|far|heavy|high|large|often)\b|\bwhat(?:'s| is| was|"
        r" does| did)\b.*\b(?:price|cost|rent|salary|fee|phone number|pin|door code|code)\b",
        r"\b(?:(?:at|from|until|till|by) )?what time\b|\bwhen(?:'s| is| does| will)\b",
    ),
    amounts=word_set(
        "few several lots loads free nothing none no every always never now soon later noon midday "
        "midnight daily"
    ),
    past=lazy_pattern(r"\b(?:did|was|were|had|used to|have (?:i|we|you) been|has \w+ been)\b"),
    definite=lazy_pattern(r"\b(?:the|my|our|i|we|me|us)\b"),
    name_places=word_set(
        "did does do has have had is was are were will would can could should isn't didn't doesn't "
        "hasn't when's where's who's what's how's with from for about and to at than called named by "
        "aunt uncle cousin sister brother friend doctor dr mr mrs ms"
    ),
    alike={
        "has_pet": "pet pets animal animals dog cat puppy kitten horse pony rabbit hamster budgie parrot tortoise",
        "has_partner has_spouse married_to has_wife has_husband has_girlfriend has_boyfriend": (
            "wife husband girlfriend boyfriend spouse fiancé fiancée fiance fiancee partner"
        ),
        "has_mother": "mum mom mam",
        "has_father": "dad",
        "has_child has_son has_daughter": "son sons daughter daughters kid child kids children",
        "has_sister has_brother": "sister sisters brother brothers sibling siblings",
    },
    joins=lazy_pattern(
        r"(?:so |okay |ok |oh |hm+ |yes |no )?(?:and|or|but|what about|how about|why not|which one|"
        r"what else|who else|where else|anything else|tell me more|more about)\b",
        flags=re.IGNORECASE,
    ),
    refers=PRONOUNS,
    own=word_set("i my me"),
    about_talk=lazy_pattern(
        r"\b(?:ask(?:ed|ing)?|question|questions|wonder(?:ed|ing)?|want(?:ed)? to know"
        r"|did you (?:tell|say|suggest|recommend|advise))\b"
    ),
)
