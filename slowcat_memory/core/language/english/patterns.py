"""English patterns: reactions, overview questions, open threads."""

from slowcat_memory.core.language.data import read_words, word_set
from slowcat_memory.core.language.note_words import NotedWords
from slowcat_memory.core.language.orders import read_orders
from slowcat_memory.core.language.table import (
    OverviewWords,
    ProactiveWords,
    ReactionWords,
    SummaryWords,
)

_WORDS = read_words(__package__)["summary"]
_FINE = "fine|okay|ok|good|great|all|alright|not necessary|enough|nothing"
_MEANT = "meant|said|asked(?: for| about| you)?|was asking(?: for| about)?"

REACTIONS = ReactionWords(
    lead="oh|um|uh|er|erm|hm|hmm|well|wait|sorry|actually|hang on|hold on|hey|but|okay|ok",
    no="no|nope|nah",
    wrong=(
        f"(?:that's|thats|that is|that was) not what i (?:{_MEANT})",
        f"(?:that|this) (?:isn't|wasn't) what i (?:{_MEANT})",
        "you(?:'ve| have)? (?:misunderstood|misheard)(?: me)?",
        "you(?:'re| are) (?:mixing|confusing) (?:that|this|it|them|him|her)(?: up)?"
        "(?: with (?:something|someone|somebody) else)?",
        "you(?:'re| are) thinking of (?:something|someone|somebody|another|a different|the wrong)",
        "i didn't (?:mean|say|ask(?: for| about)?) that",
        "not that one",
        "wrong (?:one|person|day|time|place|year)",
    ),
    denied=(
        "that's wrong|thats wrong|that is wrong|wrong",
        "i (?:said|meant|mean(?! (?:it|that|i|you|no|yes)\\b|(?: \\S+'))|was talking about|"
        "am talking about|was asking about|asked about|asked)",
        "i'm (?:talking|asking) about",
        f"(?:it|that) (?:was|is)(?! (?:{_FINE})\\b)",
        f"(?:it's|its|that's|thats)(?! (?:{_FINE}|a joke)\\b)",
        "not (?:that|him|her|them|this|those)",
        "(?:the|my) other (?:one|\\S+)",
        "you(?:'re| are) wrong",
    ),
    right=(
        "(?:yes|yeah|yep|yup)? ?(?:exactly|precisely|correct|that's (?:it|right|correct|the one)|"
        "thats (?:it|right|the one)|that is (?:it|right|correct))",
        "(?:yes|yeah|yep|yup) that one",
        "(?:that's|thats|that is) (?:exactly )?what i meant",
        "you(?:'re| are) right",
    ),
    thanks="thanks|thank you",
)

_TALKED = r"(?:talk(?:ed|ing)?|spoken|speak(?:ing)?|spoke|discuss(?:ed|ing)?|chat(?:ted|ting)?)"

OVERVIEW = OverviewWords(
    asks=(
        # what did we talk about (last week)
        rf"\bwhat (?:have|had|did|were|was) (?:we|you and i|i) (?:all )?(?:been )?(?:ever "
        rf")?{_TALKED}"
        r"(?: about| of| over)?(?: (?:so far|lately|recently|today|yesterday|before|then|there|"
        r"together))?(?:\W|$|(?= (?:last|on|in|this|the|during|over|since|at|around)))",
        # remind me what we discussed
        r"(?:^|\b(?:remind|tell) me |\bremember )what (?:all )?(?:we|you and i) (?:have )?"
        r"(?:been )?"
        rf"{_TALKED}",
        # what topics did we discuss
        rf"\bwhat (?:topics?|things|stuff) (?:did|have) (?:we|you and i) {_TALKED}",
        r"\bcatch me up\b",
        r"\bbring me up to (?:date|speed)\b",
        # a summary of last week
        r"\b(?:recap|sum up|summari[sz]e|(?:recap|summary|overview) of) "
        r"(?:our|the (?:last|past|week|day|month)|last|this (?:week|month)|today|yesterday|what we|"
        r"my (?:day|week|month))\b",
        # give me a recap
        r"\b(?:give me|have) (?:a|an|the) (?:short |quick |brief )?(?:recap|overview)[.?!]*$",
        # where did we leave off
        r"\bwhere (?:did|were) we (?:leave off|left off|stop)\b",
        r"\bwhere did we leave (?:it|things)\b",
        # what happened (in May)
        r"\bwhat(?:'s| has| is| was)? (?:been )?(?:going on|happen(?:ed|ing)|new)(?: with me| to "
        r"me| in my life)?(?:\s*[?.!]*$| (?=(?:last|on|in|this|the (?:last|past|week|day|month)|"
        r"during|over the|yesterday|today|around)\b))",
        # what did I do yesterday
        r"\bwhat did (?:i|we) do (?=(?:last|on|in|this|yesterday|today|during|over)\b)",
        # how was my week
        r"\bhow was (?:my|our|the) (?:last |past )?(?:day|week|month)\b",
    ),
    about_a_thing=(
        rf"\bwhat (?:did|have|had) (?:we|you and i|i) {_TALKED}? ?(?:say|said|decide|agree)\b",
        r"\b(?:happened|going on) (?:to|with|at) (?!me\b|us\b)\w+",
    ),
)


ORDERS = read_orders(__package__)

# Words from the requirements; the weights are our choice and add up to less than a pin.
IMPORTANCE = (
    (r"\b(?:remember|recall|told you|mention(?:ed)?|said)\b", 0.15),
    (r"\bwhat (?:is|was|are|were) my\b|\bdo you know my\b", 0.15),
    (r"\b(?:last time|before|previously|earlier)\b", 0.10),
)

PROACTIVE = ProactiveWords(
    dated=(
        r"interview|exam|test|appointment|meeting|deadline|presentation|talk|flight|trip|holiday|"
        r"vacation|wedding|birthday|party|concert|race|marathon|surgery|operation|dentist|doctor|"
        r"vet|move|moving|visit|date|audition|hearing|match"
    ),
    own="i|i'm|i’m|i've|i’ve|i'll|i’ll|my|we|our",
    reminds=r"remind (?:me|us)|reminder|be reminded|don['’]t let me forget",
    off=(
        r"cancell?ed|called off|calling off|fell through|fallen through|falls through|not happening|"
        r"isn['’]t happening|is off|are off|['’]s off|came to nothing|scrapped|won['’]t happen|"
        r"no longer going|(?:not|n['’]t)\b.{1,60}\b(?:any ?more|after all)|gave up on|dropped the (?:idea|plan)"
    ),
    moved=(
        r"moved? (?:[\w'’]+ ){0,4}(?:to|back|forward|until|till)|(?:been|was|got|were|is|are|have|['’]s|"
        r"['’]ve) (?:now )?(?:moved|rescheduled|postponed|pushed|put back|put off|delayed|brought "
        r"forward|changed to)|(?:isn['’]t|not) .{1,40}[,;] (?:it['’]s|but)|reschedul(?:e|ed)|postponed|pushed back|had to move"
    ),
    done=(
        r"sorted|settled|all done|is done|['’]s done|got done|fixed|finished|completed|sold|paid|"
        r"resolved|repaired|dealt with|taken care of|handed in|over and done|ticked off|off my "
        r"(?:list|plate|mind)|got (?:\w+ ){1,4}back|passed|signed|returned|picked up|dropped off|"
        r"all good now|is over|(?:works|runs|drives|goes|flies|rings|heats|working|running|going) again|"
        r"out of the way|closed|wrapped up|"
        r"(?:is|are|was|were|been|['’]s|['’]re|got|gets) (?:all |now |finally |already |just |both )*"
        r"(?:booked(?! out| up| solid)|arranged|ordered|renewed|organi[sz]ed|confirmed|delivered|"
        r"collected|cleaned|mended|installed|fitted|replaced|approved|submitted|filed|posted|shipped|"
        r"sent|filled (?:in|out)|packed|printed|bought|found|registered|cleared|transferred|refunded)"
    ),
    did=(
        r"(?:i|we)(?:['’]ve| have|['’]d)? (?:just |finally |already |now |both |actually |went and )*"
        r"(?!was|were|had|have|been|thought|wanted|tried|forgot|forgotten|"
        r"missed|hoped|planned|heard|wished|need|needed|agreed|promised|felt|"
        r"knew|said|told you|saw|got to|used to|worried|decided)"
        r"(?:[a-z]+ed|took|taken|went|gone|spoke|spoken|called|rang|rung|wrote|written|sent|bought|"
        r"made|did|done|got|gave|given|met|found|told|put|brought|chose|chosen|read|drove|flew|"
        r"saw|seen|cut|left|sold|paid|caught|built|hung|rebooked)"
    ),
    still_open=(
        r"not|n['’]t|never|still|yet|nearly|almost|tried to|wish|if|might|should|must|need to|have to|"
        r"going to|will|want to|forgot|didnt|havent|hasnt|wasnt|tomorrow|next|has to|needs? to|got to|"
        r"to be|can['’]t|cannot|booked (?:out|up|solid)"
    ),
    arrived=(
        r"arrived|(?:came|come)(?: back| in| through)?|turned up|showed up|(?:is|are|['’]s|['’]re) "
        r"(?:now |finally |already )*(?:here|in|back|gone|there)|went to|answered|replied|agreed|"
        r"said|got back to (?:me|us)|(?:have|has|got|['’]ve)\b.{1,40}\bnow"
    ),
    awaited=(
        r"wait(?:s|ing|ed)?|expect\w*|order\w*|renew\w*|get|collect\w*|find\w*|sell\w*|results?|answers?|"
        r"ask|hand|give|apply|applied|request\w*|look(?:s|ing)? for|needs?"
    ),
    helpers=r"is|are|was|were|been|['’]s|['’]re|have|has|had|['’]ve|got",
    generic=(
        "call called calling ask asked asking talk talked speak spoke spoken tell told deal take took "
        "taken care book booked get got need needs remind reminded reminder sort sorted do did done "
        "make made go went gone going buy bought fix fixed pay paid ring rang contact contacted "
        "email write wrote sent send find found see saw seen still wants want wanted has have had "
        "plans plan planned whether decide decided open thing matter finally now just already back "
        "look looking bring brought give gave put new old about broken big small some up out off "
        "down over into be been being say said let keep start started try check checked user"
    ),
)

SUMMARY = SummaryWords(
    clause=word_set(_WORDS["clause"]),
    points_back=(
        r"he|she|it|they|his|her|its|their|this|that|these|those|there"  # not "he is the one who"
    ),
    own="i|i'm|i've|i'll|my|we|our",
    advice=(
        r"i(?:'d|’d| would)? (?:suggest|recommend|advise)|my (?:advice|suggestion)|"
        r"(?<!so )(?<!then )(?<!if )(?<!that )you (?:could|might want to|should)(?! (?:finally|be proud|see|know|have (?:seen|told|said)))|why don['’]t you|how about|"
        r"it (?:may|might|could) help to|make sure (?:you|to)|consider \w+ing"
    ),
    advice_begins=(
        "try|prepare|practise|practice|write|bring|start|keep (?!me|it up|going)|focus|take (?!care|your time|it easy)|ask|call|check|"
        "book|pack|drink|eat|put|set|talk to|tell (?!me)|read|avoid|remember to|do not|don't (?!worry|mention)|give (?!me)|wear|rest|send|"
        "order|plan|make (?!yourself)|use|photograph|compare|measure|ring|schedule|apply|save|stretch|breathe"
    ),
    denials=word_set(_WORDS["denials"]),
    eased=word_set(_WORDS["eased"]),
    feels=r"\b(?:i'm|im|i am|i feel|i'm feeling|i am feeling|i've been|i have been|my|the(?= (?:anxiety|worry|panic) (?:is|has)))\b",
    unreal=(
        r"\b(?:if|unless|when|whenever|would|wouldn't|might|says?|said|thinks?|thought|called|"
        r"joking|supposed|used to|pretend\w*|play(?:s|ed|ing)?|read(?:s|ing)?)\b"
    ),
    degrees=word_set(_WORDS["degrees"]),
    polite=word_set(_WORDS["polite"]),
)

NOTED = NotedWords(
    subjects=("the user", "user"),
    i="I",
    mine=("My",),
    verbs=(("is", "am"), ("was", "was"), ("has", "have"), ("does", "do"), ("goes", "go")),
    endings=(("ies", "y"), ("sses", "ss"), ("ches", "ch"), ("shes", "sh"), ("ss", "ss"), ("s", "")),
)
