"""The context of a session, but for its icebreaker."""

from typing import Any

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Memory, Turn, WriteBatch
from tests.support.icebreaker_home import Home


def test_head_session_head_summary_of_the_last_session_and_of_no_other(home: Home) -> None:
    engine = home.open()
    home.session(engine, "one")
    home.session(engine, "two")

    def summary(id_: str, text: str, **more: Any) -> Memory:
        facts = {"kind": "summary/session", "scope": "anna", "speaker": "Anna"}
        facts |= {"valid_from": home.clock(), **more}
        return Memory(id=id_, text=text, **facts)  # type: ignore[arg-type]

    ids = [turn.id for turn in _turns(engine)]
    engine.store.apply("job", WriteBatch(memories=(
        summary("summary/session/1", "We spoke of boats.", sources=(ids[0],)),
        summary("summary/session/2", "We spoke of trains.", sources=(ids[1],)),
        summary("summary/session/3", "Nothing of the kind."),
        summary("summary/session/4", "Not true.", sources=(ids[1],), retired_at=home.clock()),
    ))).wait()  # fmt: skip
    assert engine.session_context("anna").splitlines()[3] == "That time: We spoke of trains."


def _turns(engine: MemoryEngine) -> list[Turn]:
    with engine.store.snapshot() as snapshot:
        return list(snapshot.turns("anna"))
