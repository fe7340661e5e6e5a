"""Rules on real talk: which facts are read of it, and what is taken for a command.

Every conversation of the data folders is told to an engine without an LLM and without vectors; the
rules read it, and its users' turns are judged as commands. Nobody gives this memory orders, so what
is taken or asked about is wrong. Facts are kept as hashes of their turn and their text, so that a
later run can say which share of them is still read, and no text of the data is written anywhere.

    python -m benchmarks.real_talk --data DIR --since benchmarks/results/real_talk.json

The JSON: by data folder ``turns`` (of users), ``facts`` (hashes), ``taken``, ``asked`` (shares of
turns), and ``kept``: the share of the facts of ``--since`` that are read still (1 without it).
"""

import hashlib
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks import common, datasets
from benchmarks.tables import titled
from benchmarks.unseen.homes import facts_of
from benchmarks.unseen.utterances import AGENT_NAMES
from slowcat_memory.core.commands.grammar import Heard
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.idle.jobs.extraction.facts import NAME
from slowcat_memory.transfer import import_

LANGUAGE = "english"  # of the data sets


def main() -> None:
    parser = common.arguments(__doc__)
    parser.add_argument("--data", type=Path, required=True, action="append", help="data folders")
    parser.add_argument("--since", type=Path, metavar="FILE", help="results to compare with")
    options = parser.parse_args()
    before = common.read_json(options.since)["data"] if options.since else {}
    found = {}
    for folder in datasets.find(options.data):
        result = commands(folder) | {"facts": facts(folder)}
        earlier = before.get(folder.name, {}).get("facts", result["facts"])
        result["kept"] = share(len({*earlier} & {*result["facts"]}), len(earlier))
        found[folder.name] = result
    rows = [
        (name, one["turns"], len(one["facts"]), *(100 * one[m] for m in ("kept", "taken", "asked")))
        for name, one in found.items()
    ]
    columns = ("", "turns", "facts", "kept %", "taken %", "asked %")
    print(titled("rules on real talk", columns, rows))
    common.write_json(options.json, {"data": found})


def facts(folder: Path) -> list[str]:
    """Return the hashes of the facts that rules read of a folder's conversations."""
    data = datasets.load(folder)
    with common.scratch() as path:
        config = common.configuration(path, embedding={"kind": "none"}, idle={"enabled": True})
        with closing(MemoryEngine(config)) as engine:
            scopes = []
            for transcript in data.transcripts():
                scopes.append(datasets.scope_of(transcript.conversation))
                for session in transcript.sessions:
                    import_.ingest(engine, scopes[-1], session)
            engine.flush()
            engine.idle.until_done([NAME])
            with engine.snapshot() as snapshot:
                stored = (one for scope in scopes for one in facts_of(snapshot, scope))
                return sorted({_hash(one.scope, *one.sources, one.text) for one in stored})


def commands(folder: Path) -> dict[str, Any]:
    """Count users' turns, and the shares of them that are taken for commands or asked about."""
    data = datasets.lines(datasets.load(folder).conversations)
    said = [
        turn["text"]
        for conversation in data
        for session in conversation["sessions"]
        for turn in session["turns"]
        if turn.get("role") != "assistant"
    ]
    read = [found for text in said if (found := Heard(text, LANGUAGE, AGENT_NAMES).command())]
    asked = sum(found.kind == "confirm" for found in read)
    return {
        "turns": len(said),
        "taken": share(len(read) - asked, len(said)),
        "asked": share(asked, len(said)),
    }


def share(part: int, whole: int) -> float:
    return round(part / whole, 5) if whole else 1.0


def _hash(*parts: Any) -> str:
    return hashlib.blake2b(repr(parts).encode(), digest_size=6).hexdigest()


if __name__ == "__main__":
    main()
