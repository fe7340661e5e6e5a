"""import, export, remember, pin, forget: what changes a memory, and what takes it along."""

import json
import stat

from slowcat_memory import providers
from slowcat_memory.engine.upkeep import Upkeep
from slowcat_memory.errors import ProviderError
from slowcat_memory.providers import EmbedderReport
from slowcat_memory.store import data_file
from slowcat_memory.testing import HashEmbedder
from tests.support.rows import cases

# ------------------------------------------------------------------- import


def test_change_import_of_what_is_no_transcript_makes_no_store(sm) -> None:
    (sm.folder / "empty.txt").write_text("")
    said = sm.fails("import", "empty.txt", "nowhere.txt")
    assert "empty.txt is empty" in said and "No such file" in said
    assert not sm.store.exists()


def test_change_import_for_a_script(sm) -> None:
    (sm.folder / "chat.txt").write_text("noname\nAnna: hello\n")
    result = sm("import", "chat.txt", "--date", "2024-05-01", "--scope", "anna", "--json")
    told = json.loads(result.stdout)
    assert result.exit_code == 1
    assert told["scopes"] == ["anna"] and told["vectors"] is False
    [file] = told["files"]
    assert (file["turns"], file["sessions"], len(file["unreadable"])) == (1, 1, 1)


def test_change_import_keeps_the_turns_when_embedding_fails(sm, monkeypatch):
    def fail(*args: object, **named: object) -> None:
        raise ProviderError("the model is ill", hint="Wait.")

    monkeypatch.setattr(Upkeep, "tidy", fail)
    (sm.folder / "chat.txt").write_text("Anna: hello\n")
    result = sm("import", "chat.txt", "--date", "2024-05-01")
    assert result.exit_code == 0 and "1 turn in 1 session" in result.stdout
    assert "No vectors for now; search is by words: the model is ill. Wait." in result.stderr


def test_change_what_is_remembered_has_its_vector_at_once(sm, monkeypatch):
    model = HashEmbedder(32)
    report = EmbedderReport(state="ready", source=model.name, key=model.key)
    monkeypatch.setattr(
        providers,
        "open_query_embedder",
        lambda options: (None, report) if options.kind == "none" else (model, report),
    )
    sm.config.write_text("")
    sm.ok("remember", "Max is a spaniel.")
    assert sm.json("show", "stats")["scopes"]["user"]["vectors"] == 1


# ------------------------------------------------------------------- export


def rows(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


def test_change_a_note_that_was_forgotten_comes_back_only_with_again(filled) -> None:
    kept = filled.json("remember", "Max is a spaniel.")
    filled.ok("export", "-o", "out.jsonl")
    filled.ok("forget", kept["id"], "--yes")
    for more, texts in (((), []), (("--again",), ["Max is a spaniel."])):
        filled.ok("import", "out.jsonl", *more)
        assert [one["text"] for one in filled.json("show", "notes")] == texts


def test_change_export_and_import_round_trip(filled) -> None:
    filled.ok("remember", "Max is a spaniel.", "--pin")
    filled.ok("mark", "pin", "2")
    before = rows(filled.ok("export"))
    assert "6 lines in" in filled("export", "-o", "out.jsonl").stderr
    assert stat.S_IMODE((filled.folder / "out.jsonl").stat().st_mode) == 0o600
    filled.store = filled.folder / "copy"
    filled.ok("import", "out.jsonl", "--no-embed")
    after = rows(filled.ok("export"))
    for row in before + after:
        row.pop("id", None)
    assert after == before


def test_change_export_asks_before_it_overwrites(filled) -> None:
    filled.ok("export", "-o", "out.jsonl")
    (filled.folder / "out.jsonl").write_text("mine")
    assert "out.jsonl exists. Overwrite it?" in filled.fails(
        "export", "-o", "out.jsonl", stdin="n\n"
    )
    assert (filled.folder / "out.jsonl").read_text() == "mine"
    filled.ok("export", "-o", "out.jsonl", stdin="y\n")
    assert (filled.folder / "out.jsonl").read_text() != "mine"


def test_change_a_failed_export_leaves_the_old_file(filled, monkeypatch):
    from slowcat_memory.transfer.formats import rows

    out = filled.folder / "out.jsonl"
    out.write_bytes(b"old")

    def broken(*args: object, **more: object) -> object:
        yield {"text": "x"}
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(rows, "export", broken)
    assert "No space left" in filled.fails("export", "-o", str(out), "--yes")
    assert out.read_bytes() == b"old"
    assert [p.name for p in filled.folder.glob("*out*")] == ["out.jsonl"]


# ------------------------------------------------------------------- remember, pin


def test_change_pin_and_unpin_a_turn(filled) -> None:
    assert filled.json("mark", "pin", "7")["pinned"] is True
    assert filled.json("show", "7")["memory"]["pinned"] is True
    assert "No longer marked: We moved to Lisbon." in filled.ok("mark", "off", "chunk/7")
    assert "pinned" not in filled.json("show", "7")["memory"]
    assert "There is no memory '99'" in filled.fails("mark", "pin", "99")
    assert "Muted: My dog is called Max." in filled.ok("mark", "mute", "2")
    assert filled.json("show", "2")["memory"]["muted"] is True


def test_change_local_only_is_set_shown_and_carried_along(filled) -> None:
    assert filled.json("mark", "local", "7")["local_only"] is True
    note = filled.json("remember", "The alarm code is 4711.")["id"]
    assert "Stays on this machine: The alarm code" in filled.ok("mark", "local", note)
    assert "never sent to an LLM on another" in " ".join(filled.ok("show", "7").split())
    (filled.folder / "moved.jsonl").write_text(filled.ok("export"))
    filled.ok("forget", "--all", "--yes")
    filled.ok("import", "moved.jsonl")
    kept = [row for row in map(json.loads, filled.ok("export").splitlines()) if "note" in row
            or row["text"] == "We moved to Lisbon."]  # fmt: skip
    assert [row.get("local_only") for row in kept] == [True, True]
    assert len(filled.json("search", "what is the alarm code")["hits"]) >= 1  # a person may look


# ------------------------------------------------------------------- guests


def test_change_guests_are_told_apart_and_stay_out_of_exports(filled, monkeypatch) -> None:
    row = {"text": "I am a visitor.", "scope": "guest", "speaker": "Eve", "session": "v"}
    (filled.folder / "visit.jsonl").write_text(json.dumps(row))
    monkeypatch.setenv("SLOWCAT_PEOPLE__SCOPES", "each")
    monkeypatch.setenv("SLOWCAT_PEOPLE__GUEST_HOURS", "87600")  # whatever opens it, erases
    filled.ok("import", "visit.jsonl", "--date", "2024-05-01", "--no-embed")
    assert "visitor" not in filled.ok("export")
    assert "visitor" in filled.ok("export", "--scope", "guest")
    assert "visitor" in filled.ok("show", "--last", "1", "--scope", "guest")
    assert filled.json("search", "visitor", "--scope", "guest")["hits"] == []
    assert "nothing is remembered" in filled.fails("remember", "x y", "--scope", "guest")
    monkeypatch.setenv("SLOWCAT_PEOPLE__GUEST_HOURS", "0")
    filled.ok("remember", "Visitors were here.")  # whatever opens the store to write
    assert "visitor" not in filled.ok("export", "--scope", "guest")


# ------------------------------------------------------------------- forget


def turns(sm) -> list[int]:
    return [row["id"] for row in sm.json("show", "--last", "99")]


def test_change_forget_shows_and_asks_and_no_means_no(filled) -> None:
    result = filled("forget", "2", stdin="n\n")
    assert result.exit_code == 1 and "My dog is called Max." in result.stderr
    assert "1 turn" in result.stderr and "Delete this for good" in result.stderr
    assert turns(filled) == [2, 3, 4, 7, 8]
    assert "Forgotten: 1 turn." in filled.ok("forget", "2", stdin="y\n")
    assert turns(filled) == [3, 4, 7, 8]
    assert b"called Max" not in data_file(filled.store).read_bytes()
    assert "No match" in filled.fails("forget", "Lisa", "--yes")


@cases("cli/change.jsonl")
def test_change_forget_by_conditions(filled, conditions: tuple[str, ...], left: list[int]) -> None:
    assert filled("forget", *conditions, "--yes").exit_code == 0
    assert turns(filled) == left


@cases("cli/change.jsonl")
def test_change_forget_refuses_what_is_unclear(filled, options, reason):
    assert reason in filled.fails("forget", *options, "--yes", code=2)
    assert len(turns(filled)) == 5
