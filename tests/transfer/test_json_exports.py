"""Exports of chat apps as JSON: the same turns, whatever wrote the file."""

import json

import pytest

from slowcat_memory.errors import TranscriptError
from slowcat_memory.transfer import files

DOG, GOOD = "My dog is called Max.", "What a good name!"
AT = 1_715_531_400  # 2024-05-12 16:30 UTC


def chatgpt():
    def node(role, text, parent, at=AT):
        message = {"author": {"role": role}, "content": {"parts": [text]}, "create_time": at}
        return {"message": message, "parent": parent}

    mapping = {
        "root": {"message": None, "parent": None},
        "s": node("system", "You are helpful.", "root"),
        "old": node("user", "My cat is called Mimi.", "s"),
        "a": node("user", DOG, "s"),
        "b": node("assistant", GOOD, "a", AT + 10),
    }
    return [{"id": "c1", "title": "Dogs", "mapping": mapping, "current_node": "b"}]


def claude():
    said = [("human", DOG, "2024-05-12T16:30:00Z"), ("assistant", GOOD, "2024-05-12T16:30:10Z")]
    messages = [{"sender": s, "text": t, "created_at": at} for s, t, at in said]
    return [{"uuid": "c1", "name": "Dogs", "chat_messages": messages}]


def telegram():
    def message(who, text, at):
        return {"type": "message", "from": who, "text": text, "date_unixtime": str(at), "date": "x"}

    said = message("Anna", ["My dog is ", {"type": "bold", "text": "called Max."}], AT)
    service = {"type": "service", "date": "x", "text": ""}
    return {"name": "Chat", "messages": [service, said, message("Assistant", GOOD, AT + 10)]}


def messages():
    return [
        {"role": "system", "content": "You are helpful."},
        {"role": "user", "content": [{"type": "text", "text": DOG}]},
        {"role": "assistant", "content": GOOD},
    ]


def read(tmp_path, document, name="export.json", indent=None):
    path, faults = tmp_path / name, []
    path.write_text(json.dumps(document, indent=indent))
    return list(files.read(path, faults.append)), faults


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(
    "document", [chatgpt(), claude(), telegram(), messages(), {"messages": messages()}]
)
def test_json_exports_are_read_whatever_app_wrote_them(tmp_path, document, indent):
    (found,), faults = read(tmp_path, document, indent=indent)
    said = [(u.role, u.text) for session in found.sessions for u in session.utterances]
    assert (said, faults) == ([("user", DOG), ("assistant", GOOD)], [])


@pytest.mark.parametrize("document", [chatgpt(), claude(), telegram()])
def test_json_exports_keep_the_time(tmp_path, document):
    (found,), _ = read(tmp_path, document)
    assert found.sessions[0].utterances[0].at.isoformat() == "2024-05-12T16:30:00+00:00"


@pytest.mark.parametrize("wrapped", [True, False])
def test_json_exports_what_mem0_returns_becomes_notes(tmp_path, wrapped):
    every = [{"memory": "Loves Thai food", "created_at": "2024-05-12T16:30:00+00:00"}]
    (found,), faults = read(tmp_path, {"results": every} if wrapped else every)
    assert [note.text for note in found.notes] == ["Loves Thai food"] and not faults


def test_json_exports_an_unknown_document_is_named(tmp_path):
    with pytest.raises(TranscriptError, match="export.json is JSON of no known kind"):
        read(tmp_path, {"nested": {"a": 1}, "b": [1]}, indent=2)


def test_json_exports_lines_with_a_damaged_first_one_are_still_lines(tmp_path):
    path, faults = tmp_path / "chat.jsonl", []
    path.write_text('{"text": "cut of\n{"text": "My dog is called Max."}\n')
    (found,) = files.read(path, faults.append)
    assert found.turns == 1 and len(faults) == 1
