"""The paths of keys at the beginning of a JSON text, which may be cut off anywhere."""

import re

_TOKEN = re.compile(r'("(?:[^"\\]|\\.)*")\s*(:?)|[{}\[\]]')
DEEPEST = 8


def outline(text: str) -> frozenset[str]:
    """Return the paths of keys, for example {".messages", ".messages[].role"}.

    A path begins at the text's outermost values, whichever of them it is. Keys deeper than eight
    levels are left out.
    """
    found = set[str]()
    containers, pending = [""], ""
    for token in _TOKEN.finditer(text):
        if token[1]:
            pending = f"{containers[-1]}.{token[1][1:-1]}" if token[2] else ""
            if pending and len(containers) <= DEEPEST:
                found.add(pending)
        elif token[0] in "{[":
            containers.append(_inside(containers, pending, token[0]))
            pending = ""
        else:
            pending = ""
            if len(containers) > 1:
                containers.pop()
    return frozenset(found)


def _inside(containers: list[str], key: str, opening: str) -> str:
    """Return the path of what a bracket opens; too deep for any key, it does not grow."""
    if len(containers) > DEEPEST:
        return containers[-1]
    return (key or containers[-1]) + ("[]" if opening == "[" else "")
