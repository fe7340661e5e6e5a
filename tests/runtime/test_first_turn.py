"""What the first turn needs is compiled before it, and not while the package is imported."""

import subprocess
import sys
from pathlib import Path

import slowcat_memory

FRESH = """
import re
made, compile_pattern = [], re.compile
def counting(*arguments, **named):
    made.append(str(arguments[0]))
    return compile_pattern(*arguments, **named)
from slowcat_memory.core.commands.grammar import Heard, recognise
from slowcat_memory.core.language import ENGLISH
from slowcat_memory.core.query.recall_gate import judge
from slowcat_memory.runtime.recall.service import compile_patterns
print("compiled" if "_compiled" in vars(ENGLISH.gate.world) else "lazy")
compile_patterns("english", "Juno")
re.compile = counting
for said in ("please delete what I said about Lisa", "forget that, Juno", "what is my dog called?"):
    recognise(said, names=("Juno",)), Heard(said, names=("Juno",)).asks_change(), judge(said)
print(len(made))
"""


def test_first_turn_compiles_no_pattern_once_they_are_prepared():
    root = Path(slowcat_memory.__file__).parents[1]
    told = subprocess.check_output([sys.executable, "-c", FRESH], cwd=root, text=True)
    assert told.split() == ["lazy", "0"]
