"""English patterns of the recall gate; its lists are in ``words.toml``."""

import re

from slowcat_memory.core.language.data import read_words
from slowcat_memory.core.language.gate import any_of, gate_words

GATE = gate_words(
    read_words(__package__)["gate"],
    about_now=any_of(
        r"\b(?:today|tomorrow|tonight|this (?:week|weekend|month|year|morning|afternoon|evening)|"
        r"next (?:week|weekend|month|year)|how long (?:ago|until|till|is it|has it been|since)|"
        r"how many (?:hours|days|weeks|months|years)\b.*\b(?:until|till|left|ago|since|to))\b"
    ),
    memory=any_of(
        r"\b(?:do|did|don't|didn't|can|can't|could|would) you (?:still |even |ever )?"
        r"(?:remember|recall|know (?:my|our|what i|who i|who my|where i|where my|when i|when my"
        r"|how i|how old my|which of my|about my|anything about|me\b))",
        r"\b(?:i|we) (?:just |once |already |ever |have |had )*"
        r"(?:told|tell|mentioned|mention|said|say|talked|talk|spoke|spoken|discussed|discuss)\b",
        r"\b(?:you) (?:just |once |already |ever )*(?:told|said|say|tell|mentioned|mention"
        r"|suggested|suggest|recommended|recommend|promised|promise|meant)\b",
        r"\b(?:did i|have i) (?:ever )?(?:told|tell|mention|mentioned|said|say)\b",
        r"\b(?:is|was|are|were|what's|who's|where's|when's|how's|does|did|do|has|have|had|will|"
        r"know|about|how old is|of) (?:my|our)\b",
        r"\b(?:what|which|who|where|when|why|how|whose|did|had|have|has|was|were)\b.*"
        r"\b(?:did|was|were|have|had|had been|have been|am) (?:i|we|me)\b",
        r"^(?:did|was|were|have|had|am) (?:i|we)\b",
        r"\b(?:where|when|what|which|who|whom|how often|how many|how much)\b.* do (?:i|we)\b"
        r"(?! (?:do|need|have to|say|call|make|get|spell))",
        r"\b(?:do|did) (?:i|we) (?:still |really |usually |normally |always |ever )?"
        r"(?:like|love|hate|prefer|own|have|live|work|eat|drink|take|drive|wear|go)\b",
        r"\b(?:last time|before|earlier|previously|the other day|back then|used to|"
        r"last (?:week|month|year|night|summer|winter|spring|autumn|fall|weekend|monday|tuesday|"
        r"wednesday|thursday|friday|saturday|sunday)|yesterday|\w+ ago)\b",
        r"^(?:remind me|tell me) (?:again )?(?:what|who|where|when|which|how|about) (?:\w+ )?"
        r"(?:i|my|we|our)\b",
        r"\babout me\b|\bknow me\b|\bremember me\b|\bmy name\b|\bwho am i\b|\bi'm called\b",
    ),
    advice=any_of(
        r"(?:what|how|where|which|when|who)?(?: \w+){0,2} ?\b(?:can|could|should|shall|may|must|"
        r"would|might) (?:i|we)\b",
        r"how (?:do|to)\b(?! (?:i|we) know)",
        r"(?:can|could|will|would) you (?:please |just )?(?:help|tell me a|sing|read|write|play|"
        r"explain|translate|show|find|search|make|book|order|call|give|set|turn|add|recommend|"
        r"suggest|please)\b",
    ),
    general=any_of(
        r"\bhow (?:tall|high|far|big|deep|heavy|large|fast|hot|cold|wide|many people|many "
        r"kilometres|many miles)\b",
        r"\b(?:capital|population|president|prime minister|currency|weather|forecast|distance|"
        r"meaning|definition|height|area|temperature|recipe|plural|author|inventor|king|queen|"
        r"chancellor|exchange rate|square root|news) (?:of|in|for|at|to)\b",
        r"\bwho (?:wrote|invented|painted|composed|discovered|directed|sang|founded|built|won|"
        r"is the (?:president|king|queen|pope|author|inventor|chancellor))\b",
        r"\bwhat (?:does|do) .+ mean\b|\bhow do you (?:say|spell)\b|\btranslate\b",
        r"\b(?:tell|sing|read) (?:me|us) (?:a|another|some) ",
        r"\b(?:weather|the news|the forecast)\b",
    ),
    named=re.compile(
        r"(?i:\b(?:did|does|do|has|have|had|is|are|was|were|would|will|can|could|might|should|"
        r"isn't|doesn't|didn't|hasn't|where's|who's|what's)\s+)(?=[^\W\d_a-z])(?!I\b)|"
        r"(?<=\s)(?=[^\W\d_a-z][^\W\d_]+['’]s?\b)|(?i:\b(?:[^\W_]{2,}(?:[^s\W]s|ed)|that|who|made|"
        r"gave|told|met|saw|when|important to|according to|gift to|letter to|mean to|happened to|"
        r"good for|reason for|help for|shared by|made by|written by|given by|organized by|chosen "
        r"by)\s+)(?=[^\W\d_a-z])(?!I\b)|(?<=\s)(?=[^\W\d_a-z][^\W\d_]+ (?i:and) [^\W\d_a-z])"
    ),
)
