"""Does a text try to give an LLM orders? What people read aloud, paste or are told may hold anything.

On the safe side: where one of these is found in a turn, no fact is made of the turn at all. It stays
in the log and can be recalled, as what somebody said.
"""

import re

_WHAT = (
    r"(?:instructions?|prompts?|rules?|guidelines?|directives?|restrictions?|constraints?|polic(?:y|ies)|"
    r"(?:everything|all|anything) (?:above|before|you)|the above|safety|filters?|training|persona)"
)
_DO = (
    r"(?:say|tell|answer|reply|respond|reveal|repeat|print|output|write|send|call|obey|execute|run|ignore|"
    r"forget|pretend|act|begin|start|end|include|append|insert|add|store|save|remember|record|note|treat|"
    r"use|speak|address|recommend|mention|insist|confirm|grant|delete|open|transfer|unlock)"
)
_INJECTED = re.compile(
    rf"\b(?:ignore|disregard|forget|override|bypass|discard|neglect|drop|disable|suspend)\b.{{0,40}}\b{_WHAT}\b"
    r"|\b(?:system|developer|hidden|initial|secret|original) (?:prompt|message|instructions?|note|override|mode)\b"
    r"|\b(?:developer|debug|god|admin|root|maintenance|unrestricted|dan) mode\b|\bjail ?break"
    r"|\b(?:i|we) (?:hereby |now )?(?:order|command|instruct|direct|authori[sz]e) (?:you|the)\b"
    r"|\bas (?:the|your) (?:system )?(?:administrator|admin|developer|creator|operator)\b"
    r"|\bas an ai\b|\byou are (?:now|no longer|going to be|hereby)\b|\bact as\b|\bpretend (?:to be|you)\b"
    r"|\bfrom now on\b|\bnew (?:system )?(?:instructions?|rules?|directives?|task|role|persona)\b"
    r"|\b(?:you|the (?:assistant|agent|ai|bot|model|memory)|assistants?|every assistant) "
    r"(?:must|shall|has to|have to|needs? to|should|will|"
    r"(?:are|is) (?:required|instructed|ordered|allowed|permitted|authori[sz]ed) to) "
    rf"(?:now |always |never |not |only )*{_DO}\b"
    rf"|(?:^|[.!?:;\"'\]\)>}}*#\n-]\s*)(?:please |now |always |never |and |then |assistant,? |system,? )*{_DO}\b"
    r".{0,60}\b(?:to|in|into|as) (?:your |the |long.term |permanent )*(?:memory|memories|facts?|profile|notes?|database)\b"
    r"|\b(?:every|each|all|any|your|its|future|the next|subsequent) (?:future |single |next |later )*"
    r"(?:reply|replies|answers?|responses?|outputs?)\b"
    r"|\b(?:begin|start|end|finish|prefix|sign)\b.{0,20}\b(?:with the (?:word|phrase|sentence|code)|by saying)\b"
    r"|\b(?:answer|reply|respond|speak|write|say|output|print|repeat|reveal)\s+(?:only|always|never|nothing but|exactly|verbatim|the following)\b"
    rf"|(?:^|[.!?:;\n]\s*)(?:always|never)\s+{_DO}\b"
    r"|\b(?:end|begin|start) of (?:the )?(?:record|conversation|transcript|prompt|context|instructions?)\b"
    r"|\[/?(?:inst|system|sys|user|assistant)\]|<\|?\s*/?(?:im_|system|inst|end|start|s>|user|assistant)"
    r"|‹[¦|]?\s*/?(?:im_|system|inst|end|start|user|assistant)|(?:^|\n|\s)#{2,}\s*\w+|={3,}|\bBEGIN\b.{0,20}\bEND\b"
    r"|(?:^|\s)(?:system|assistant|developer|instructions?|tool|function)\s*[:>]"
    r"|\{\s*\"(?:facts|role|name|tool|function|content|turn)\"|\b(?:tool|function)[ _]call"
    r"|\b(?:reveal|leak|exfiltrate|disclose|hand over)\b.{0,40}"
    r"|\b(?:api|access) (?:key|token)s?\b|\b(?:base64|rot13)\b|\bimportant(?: note)? (?:for|to) (?:the )?(?:ai|assistant|model|llm|extractor|reader)\b"
    r"|\b(?:the|this|an|any|to) (?:ai|llm|language model|extractor|summari[sz]er|assistant|memory system)\b"
    # German
    rf"|\b(?:ignoriere?|vergiss|missachte|umgehe|überschreibe)\b.{{0,40}}\b(?:anweisung\w*|regeln?|vorgaben?|alles|prompts?|instruktion\w*)\b"
    r"|\bab (?:jetzt|sofort)\b|\bdu bist (?:jetzt|nun|ab)\b|\bdu (?:musst|sollst|darfst)\b"
    r"|\b(?:antworte|sage?|schreibe?|speichere?|wiederhole?|beginne?)\b.{0,30}\b(?:immer|nur|stets|jede\w*)\b"
    r"|\bjede (?:antwort|deiner)\b|\bsystem(?:anweisung|nachricht|prompt)\w*"
    # French, Spanish
    r"|\b(?:ignorez?|oubliez?|ignora|olvida)\b.{0,40}\b(?:instructions?|instrucciones|règles|reglas|consignes|todo|tout)\b"
    r"|\bdésormais\b|\bà partir de maintenant\b|\ba partir de ahora\b|\b(?:tu es|vous êtes|eres) (?:maintenant|désormais|ahora)\b"
    r"|\b(?:réponds?|répondez|responde) (?:toujours|siempre|seulement|solo|uniquement)\b",
    re.IGNORECASE,
)


def injected(text: str) -> bool:
    """Return whether a text holds what reads like an order to an LLM.

    False is no promise: whatever is kept is never used as an instruction.
    """
    return bool(_INJECTED.search(text)) if text else False
