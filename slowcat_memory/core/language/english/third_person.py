"""English sentences about somebody in the third person."""

from slowcat_memory.core.language.sentences import UNDERWAY, SentenceRule, SentenceWords

_CALLED = r"(?:'s|’s)? (?:name )?(?:is|was)(?: not)?(?: (?:called|named))? "
_OF = r"(?:'s|’s)? "

SENTENCES = SentenceWords(
    rules=(
        SentenceRule("lives_in", r"moved out of (?:the |her |his |their )?", over=True),
        SentenceRule(
            "lives_in",
            r"(?:(?:liv(?:es?|ed|ing)|resid(?:es?|ed|ing)) in"
            r"|(?:mov(?:es?|ed|ing)|relocat(?:es?|ed|ing)) (?:back )?to) ",
        ),
        SentenceRule("address", rf"(?:liv(?:es?|ed|ing) at|{_OF}(?:new )?address is) "),
        SentenceRule(
            "works_at",
            r"(?:left|quit|resigned from|was (?:fired|laid off|let go) (?:from|by|at)|got fired from)"
            r" (?:her |his |their |the )?(?:job |work |position )?(?:at |with )?",
            over=True,
        ),
        SentenceRule(
            "works_at",
            r"(?:work(?:s|ed|ing)? (?:at|for)|employed (?:at|by)|"
            r"join(?:s|ed|ing)(?! (?:an?|the|her|his|their|our|in|up|us|them|him|me|forces)\b)|"
            r"start(?:s|ed|ing)? (?:(?:work(?:ing)?|a (?:new )?job) )?(?:at|with)|"
            r"got a (?:new )?job (?:at|with)) ",
        ),
        SentenceRule("works_as", r"work(?:s|ed|ing)? as (?:an? )?"),
        SentenceRule("has_partner", r"(?:broke|broken|split) up with |separated from ", over=True),
        SentenceRule("married_to", r"(?:(?:got )?married to|married|divorced from) (?!for\b)"),
        SentenceRule("engaged_to", r"(?:got )?engaged to "),
        SentenceRule("has_husband", rf"{_OF}husband{_CALLED}"),
        SentenceRule("has_wife", rf"{_OF}wife{_CALLED}"),
        SentenceRule(
            "has_{kin}",
            rf"{_OF}(?P<kin>mother|father|sister|brother|son|daughter|aunt|uncle|friend|"
            rf"colleague|boss|neighbour|doctor|dentist|child){_CALLED}",
        ),
        SentenceRule(
            "has_partner", r"and (?=[^ ]+ (?:are no longer|have|broke|split|separated))", over=True
        ),
        SentenceRule(
            "has_pet",
            rf"{_OF}(?:dog|cat|puppy|kitten|horse|parrot|hamster|rabbit|bird|pet) (?=[^ ]+ died)",
            over=True,
        ),
        SentenceRule("has_boyfriend", rf"{_OF}(?:new )?boyfriend{_CALLED}"),
        SentenceRule("has_girlfriend", rf"{_OF}(?:new )?girlfriend{_CALLED}"),
        SentenceRule("has_partner", rf"{_OF}(?:new )?partner{_CALLED}"),
        SentenceRule("relationship_status", r"(?=(?:single|divorced|widowed)\b)"),
        SentenceRule(
            "dislikes",
            r"(?:dislik(?:es?|ed|ing)|hat(?:es?|ed|ing)|detest(?:s|ed)?|loath(?:es?|ed)|"
            r"gone off|went off|sick of) (?:the taste of )?",
        ),
        SentenceRule("dislikes", r"(?:ca|can|could)? ?stand (?:the taste of )?", firm=True),
        SentenceRule(
            "likes",
            r"(?:lik(?:es?|ed|ing)|lov(?:es?|ed|ing)|enjoy(?:s|ed|ing)?|ador(?:es?|ed)|"
            r"(?:an? )?(?:big |huge )?fan of|fond of|into) ",
        ),
        SentenceRule("prefers", r"prefer(?:s|red)? "),
        SentenceRule(
            "diet", r"(?:became |turned |gone |went )?(?:an? )?(?=vegan|vegetarian|pescatarian)"
        ),
        SentenceRule("drinks", r"dr(?:inks?|inking|ank) "),
        SentenceRule("eats", r"(?:eats?|eating|ate) "),
        SentenceRule("smokes", r"smok(?:es?|ed|ing)(?= |\.|$) ?"),
        SentenceRule("plays", r"play(?:s|ed|ing)? (?:the )?"),
        SentenceRule("owns", r"(?:own(?:s|ed)?|bought|has bought) "),
        SentenceRule(
            "sold", r"(?:sold|got rid of|gave away) (?:the |her |his |their )?", over=True
        ),
        SentenceRule("owns", r"driv(?:es?|ing) (?:an? |the )?"),
        SentenceRule("owns", r"(?:an? )?(?:new )?(?:phone|car|bike|laptop), (?:an? )?"),
        SentenceRule("allergic_to", r"allergic to "),
        SentenceRule(
            "over",
            r"(?:(?:recovered|retired) from|over(?= (?:the|her|his))|got over|given up|gave up|dealt with|"
            r"decided not to|called off|cancelled|finished with|done with) (?:the |her |his |their )?",
            over=True,
            ends=UNDERWAY,
        ),
        SentenceRule(
            "over",
            r"(?:'s|’s) (?P<thing>[^.]+?) (?:was |is |has been |got )?(?=cancelled|called off|off\b)",
            over=True,
            ends=UNDERWAY,
        ),
        SentenceRule("plans", r"plans (?:to )?(?:the )?"),
        SentenceRule("goal", r"wants to |(?:her|his|their) goal is to "),
        SentenceRule("has_to", r"(?:has|needs) to (?:deal with |take care of )?"),
        SentenceRule("has_to", r"to deal with (?:the )?"),
        SentenceRule(
            "has",
            r"(?:no longer )?(?:has|have|had) (?:an? |the )?(?!to\b|been\b|not\b|never\b|no\b|\w+ed\b)",
            ends=UNDERWAY,
        ),
        SentenceRule("habit", r"(?=[^.]+ as a hobby)"),
        SentenceRule(
            "has_pet",
            r"(?:got|adopted)? ?(?:an? |her |his |their )?(?:new |little |old )?"
            r"(?:dog|cat|puppy|kitten|horse|parrot|hamster|rabbit|bird|pet) (?:called|named) ",
        ),
        SentenceRule(
            "has_pet",
            rf"{_OF}(?:dog|cat|puppy|kitten|horse|parrot|hamster|rabbit|bird|pet){_CALLED}",
        ),
        SentenceRule("age", r"(?:turned )?(?=\w+ years old)|turned (?=\w+)"),
    ),
    before=(
        r"(?:has|have|had|is|was|are|were|will|be|been|does|did|do|now|recently|just|also|really|"
        r"currently|still|both|finally|absolutely|always|usually|soon|going to|planning to)"
    ),
    over=(
        r"\bno longer\b|\bany ?more\b|\bany longer\b|\bused to\b|\b(?:has )?stopped\b|\bgave up\b|"
        r"\bgiven up\b|\bquit (?=\w+ing\b)|\bformerly\b|\bended\b|\bdivorced from\b"
    ),
    ahead=(
        r"\b(?:will|going to|about to|plans? to|planning to|wants? to|hopes? to)\b"
        r"|\b(?:is|are) (?:\w+ )?(?:moving|relocating|starting|joining)\b"
    ),
    past=(
        r"^(?!.*\b(?:has|have)\b)(?:\W*(?:was|were|had)\b|.*\b(?:lived|resided|worked|played|liked|"
        r"loved|enjoyed|adored|owned|ate|drank|smoked|hated|disliked|preferred)\b)"
    ),
    denied=r"\b(?:not|never|no longer)\b|\bcannot\b|n['’]t\b",
    opposites={"likes": "dislikes"},
    inverse=(
        (
            r"^the plan of (?P<s>.+?) (?:does not|will not|won't|did not) happen: (?P<o>.+)$",
            "{s} called off {o}",
        ),
        (
            r"^the (?P<kin>\w+) of (?P<s>.+?) (?:is|was) not (?:called|named) (?P<o>.+)$",
            "{s}'s {kin} is not called {o}",
        ),
        (
            r"^the (?P<kin>\w+) of (?P<s>.+?) (?:is|was) (?:called|named) (?P<o>.+)$",
            "{s}'s {kin} is called {o}",
        ),
        (r"^(?P<o>\S+) is the (?P<kin>\w+) of (?P<s>.+?)\.?$", "{s}'s {kin} is called {o}"),
        (r"^the (?P<kin>\w+) (?P<o>\S+) of (?P<s>.+?) (?P<rest>died.*)$", "{s}'s {kin} {o} {rest}"),
        (
            r"^the (?P<kin>.+) of (?P<s>.+?) (?P<rest>(?:was|is|has been) (?:cancelled|called off|off).*)$",
            "{s}'s {kin} {rest}",
        ),
    ),
    object_ends=(
        r"\b(?:tomorrow|tonight|today|the day (?:after|before)|because|since|but|and|with|for|as of|from|until|any ?more|any longer|again|now|who|"
        r"which|together|in (?:the )?(?:19|20)\d\d|on (?:\d|the|mon|tues|wednes|thurs|fri|satur|"
        r"sun)\w*|are no longer|have|no longer a|broke up|split up|separated|died|was cancelled|as a hobby|in (?:january|february|march|april|may|june|july|august|september|october|"
        r"november|december)|at all|years old|these days|after|before|when|last|this|next)\b"
    ),
)
