"""A tiny data folder in the uniform format, written for these tests."""

import gzip
import json
from pathlib import Path
from typing import Any

SESSIONS = (
    (
        "S1",
        "2024-03-01T18:00:00",
        (
            ("Ada", "user", "My tortoise is called Hugo and he lives under the stairs."),
            ("Assistant", "assistant", "Hugo is a fine name for a tortoise."),
            ("Ada", "user", "Tomorrow I am going to the dentist at nine."),
        ),
    ),
    (
        "S2",
        "2024-03-08T18:00:00",
        (
            ("Ada", "user", "I bought a blue canoe at the flea market for ninety euros."),
            ("Assistant", "assistant", "A canoe, how wonderful."),
        ),
    ),
    (
        "S3",
        "2024-03-15T18:00:00",
        (("Ada", "user", "The canoe sank, so I sold the wreck to my cousin Bertil."),),
    ),
)
QUESTIONS = (
    # question, category, evidence, asked before
    ("what is the name of my tortoise", "pet", ("S1:0", "S1:1"), None),
    ("whom did I sell the canoe to", "thing", ("S3:0",), None),
    ("what happened to the canoe that I sold", "thing", ("S2:0",), "S3"),
    ("who is my tortoise's best enemy", "adversarial", ("S1:0",), None),
    ("what is the meaning of life", "nothing", (), None),
)


def write(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    sessions = [
        {
            "session_id": f"c/{name}",
            "started_at": started,
            "turns": [
                {"turn_id": f"c/{name}:{n}", "speaker": who, "role": role, "text": text}
                for n, (who, role, text) in enumerate(turns)
            ],
        }
        for name, started, turns in SESSIONS
    ]
    conversation = {"conversation_id": "c", "speakers": ["Ada"], "sessions": sessions}
    questions = [
        {
            "question_id": f"q{n}",
            "conversation_id": "c",
            "question": text,
            "category": category,
            "evidence_turn_ids": [f"c/{turn}" for turn in evidence],
            "evidence_session_ids": sorted({f"c/{turn.split(':')[0]}" for turn in evidence}),
            "asked_at": None,
            "asked_before_session_id": f"c/{before}" if before else None,
        }
        for n, (text, category, evidence, before) in enumerate(QUESTIONS)
    ]
    _lines(folder / "conversations.jsonl.gz", [conversation])
    _lines(folder / "questions.jsonl.gz", questions)
    (folder / "low_overlap.txt").write_text("q2\n")
    return folder


def _lines(path: Path, rows: list[dict[str, Any]]) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
