"""What a host's LLM on another machine must never be told: attacks by every tool."""

from collections.abc import Iterator

import pytest

from slowcat_memory.mcp.arguments import TOOLS
from slowcat_memory.records import Forget, Memory
from slowcat_memory.testing import ScriptedLLM
from tests.support.layers import SECRET, tell
from tests.support.mcp_host import Host, asking
from tests.support.memories import Look
from tests.support.parroting_llm import Mind, parrot
from tests.support.rows import listed

ASK = (SECRET, f"What about {SECRET}?", "my sister in Porto", "the dentist appointment in May",
       "call about the contract", "Max and the beach in Lisbon")  # fmt: skip
MARKS = {"local": {"local_only": True}, "muted": {"muted": True}}


@pytest.fixture(scope="module")
def minds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Mind]]:
    """The same talk and all that idle work makes of it; the secret's turns local-only, or muted."""
    made = {}
    for state, mark in MARKS.items():
        mind = made[state] = Mind(tmp_path_factory.mktemp(state) / "store")
        tell(mind, **mark)
        assert mind.think(ScriptedLLM(parrot)) == 0
    yield made
    for mind in made.values():
        mind.close()


async def attack(host: Host) -> str:
    """Call every tool in every way, wrongly too; return all that was answered."""
    calls = listed("mcp/attacks.jsonl", "once")
    for tool, arguments in listed("mcp/attacks.jsonl", "of TEXT"):
        for text in ASK:
            meant = {name: text if value == "TEXT" else value for name, value in arguments.items()}
            calls.append([tool, meant])
    answers = [await host.ask(tool, **arguments) for tool, arguments in calls]
    assert {tool for tool, _ in calls} == set(TOOLS) - {"remember"}
    return "\n".join(text for _, text in answers)


async def change(host: Host) -> str:
    """Keep the like of what cannot be seen."""
    _, text = await host.ask("remember", text="My sister lives in Porto.")
    return text


def told(mind: Mind, *, local: bool = False) -> str:
    return "\n".join(
        asking(mind.engine, scenario, "anna", local=local, every=True)
        for scenario in (attack, change)
    )


@pytest.mark.parametrize("state", ["local", "muted"])
def test_hosts_no_tool_tells_what_is_kept_from_them(minds, state: str) -> None:
    answers = told(minds[state])
    assert SECRET.casefold() not in answers.casefold()
    assert "Siemens" in answers, "the rest is told"


def test_hosts_an_llm_on_this_machine_is_told_what_is_local_only_but_not_what_is_muted(minds):
    assert SECRET in told(minds["local"], local=True), "control: these attacks find it"
    assert SECRET not in told(minds["muted"], local=True)


def test_hosts_counts_are_as_if_it_had_never_been_said(minds) -> None:
    async def count(host: Host) -> str:
        return await host("facts_list") + await host("recent", days=3650)

    engine = minds["local"].engine
    before = asking(engine, count, "anna", every=True)
    kept = tuple(turn.id for turn in Look(engine).turns("anna") if SECRET in turn.text)
    engine.forget(Forget(scope="anna", turns=kept))
    assert asking(engine, count, "anna", every=True) == before


def test_hosts_what_a_local_llm_keeps_after_it_saw_the_secret_is_local_only_too(minds) -> None:
    async def keep(host: Host) -> None:
        await host("remember", text="The bins are emptied on Thursdays.")
        await host("search_memory", query="my brother in Berlin works at Siemens", limit=1)
        await host("remember", text="The lamp is green.")
        await host("search_memory", query="my dentist", limit=20)
        await host("remember", text="The dentist has a name.")

    async def keep_again(host: Host) -> None:
        assert "has a name" in await host("search_memory", query="the dentist has a name")
        await host("remember", text="The practice is in the next street.")

    mind = minds["muted"]  # whose secret is not local-only: nothing private is shown
    asking(mind.engine, keep, "anna", local=True)
    dentist = next(m for m in notes(mind) if "dentist" in m.text)
    mind.engine.edit("anna", dentist.id, local_only=True)
    asking(mind.engine, keep_again, "anna", local=True)
    marked = {note.text: note.local_only for note in notes(mind)}
    assert not marked["The bins are emptied on Thursdays."] and not marked["The lamp is green."]
    assert marked["The practice is in the next street."]


def notes(mind: Mind) -> list[Memory]:
    return Look(mind.engine).memories("anna", "note/")


def test_hosts_nobody_reads_another_scope(minds) -> None:
    answers = asking(minds["local"].engine, attack, "ben", local=True, every=True)
    assert SECRET not in answers and "Siemens" not in answers
