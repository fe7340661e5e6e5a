"""What holds prompts back: the idle budget, for every job, and memories that must stay here."""

import ast
import asyncio
from collections import Counter
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from msgspec import Struct
from msgspec.structs import replace

import slowcat_memory.idle.jobs
from slowcat_memory.engine.idle import job_parts
from slowcat_memory.errors import PromptRefusedError
from slowcat_memory.idle.job import Contexts, JobLLM, OverBudgetError, names_of
from slowcat_memory.idle.options import Budget, IdleOptions
from slowcat_memory.idle.registry import BUILT_IN
from slowcat_memory.providers import Prompt
from slowcat_memory.records import Run, WriteBatch
from slowcat_memory.store import Store
from slowcat_memory.testing import ScriptedLLM
from tests.harness.samples import memory, turn
from tests.support.idle_doubles import NOW, Fake, drain, job_llm
from tests.support.memories import Look
from tests.support.parroting_llm import ASKING, SAID, Mind, Remote, ledger, parrot
from tests.support.rows import each_row

BLOCKED = {
    "outside the hours": {"from_hour": 2, "to_hour": 4, "on_battery": True},
    "tokens spent": {"tokens_per_hour": 1, "on_battery": True},
    "on battery": {},
}
RATES = {"grace_s": 0.0, "rest_s": 0.01, "backoff_s": 0.01}
JOBS = {job.name: job for job in BUILT_IN}


class Note(Struct, frozen=True, forbid_unknown_fields=True):
    text: str


class House:
    """A few sessions, and idle work whose prompts and embedded texts are counted."""

    def __init__(self, folder: Path) -> None:
        self.mind = Mind(folder)
        for name in range(4):
            self.mind.talk(f"s{name}", SAID * 3)
            self.mind.clock.advance(3600)
        ledger(self.mind)
        self.prompts: Counter[str] = Counter()
        self.embedded = 0
        self.mind.clock.advance(8 * 86_400)
        self.mind.clock.now = self.mind.clock.now.replace(hour=12)

    def reply(self, prompt: Prompt) -> Any:
        self.prompts[prompt.job] += 1
        return parrot(prompt)

    def embed(self, texts: Any) -> Any:
        self.embedded += len(texts)
        return self.mind.engine.indexer.encode(texts)

    def parts(self) -> Any:
        engine = self.mind.engine
        embed_all = engine.upkeep.embed

        def counted(scope: str, **how: Any) -> None:
            self.embedded += 1
            embed_all(scope, **how)

        engine.upkeep.embed = counted  # type: ignore[method-assign]
        parts = job_parts(engine, engine.upkeep, ScriptedLLM(self.reply))
        return replace(parts, embed=self.embed)

    def think(self, options: dict[str, Any], *jobs: Any, spent: int = 0) -> int:
        limits = IdleOptions(**RATES, **options)
        budget = Budget(limits, lambda: True)
        budget.spend(spent, self.mind.clock.now)
        engine = self.mind.engine
        left = drain(
            Contexts(self.parts()), jobs or BUILT_IN, self.mind.clock, limits,
            budget=budget, on_applied=engine.indexer.take,
        )  # fmt: skip
        engine.flush(indexed=True)
        return left

    def kinds(self) -> set[str]:
        every = Look(self.mind.engine.store).memories("anna")
        return {memory.kind.partition("/")[0] for memory in every}


@pytest.fixture
def house(tmp_path):
    one = House(tmp_path / "memory")
    yield one
    one.mind.close()


@pytest.mark.parametrize("blocked", BLOCKED)
def test_budget_holds_for_all_jobs_and_rules_go_on(house, blocked) -> None:
    left = house.think(BLOCKED[blocked], spent=10 * (blocked == "tokens spent"))
    assert not house.prompts
    assert blocked == "tokens spent" or not house.embedded
    assert left and {"fact", "summary"} <= house.kinds()


@each_row("job", JOBS)
def test_budget_holds_for_each_job_whose_tasks_were_planned_before(house, job) -> None:
    for blocked in BLOCKED:  # no step writes anything: each finds the same tasks
        try_planned_tasks(house, JOBS[job], blocked)
        assert not house.prompts, blocked
        assert blocked == "tokens spent" or not house.embedded, blocked
        house.embedded = 0


def try_planned_tasks(house, one, blocked: str) -> None:
    budget = Budget(IdleOptions(**RATES, **BLOCKED[blocked]), lambda: True)
    budget.spend(10, house.mind.clock.now)
    with closing(Contexts(house.parts())) as contexts:
        plan = one.plan(contexts(one))
        for task in (plan.tasks if plan else ())[:3]:
            with suppress(OverBudgetError):
                asyncio.run(one.step(task, contexts(one, budget)))


def test_budget_what_waited_is_done_by_the_llm_when_it_may_be(house) -> None:
    assert house.think(BLOCKED["outside the hours"]) and not house.prompts
    house.mind.clock.now = house.mind.clock.now.replace(hour=2)
    house.think(BLOCKED["outside the hours"])
    # merge only asks about doubtful pairs, and meta summaries need a longer session
    assert ASKING - {"merge"} <= house.prompts.keys()
    facts = Look(house.mind.engine.store).memories("anna", "fact/")
    assert any(one.made.model for one in facts if one.made and not one.retired_at)


def test_budget_a_job_without_a_need_of_the_llm_has_none(house) -> None:
    with closing(Contexts(house.parts())) as contexts:
        for job in BUILT_IN:
            llm = contexts(job).llm
            wants = job.needs.startswith("llm")
            assert isinstance(llm, JobLLM) if wants else llm is None, job.name


def test_budget_every_job_that_asks_declares_it() -> None:
    assert {job.name for job in BUILT_IN if job.needs.startswith("llm")} == ASKING


def test_budget_no_job_imports_another_way_to_a_model() -> None:
    """A job's modules import types of ``providers`` alone, and nothing that opens a model."""
    allowed = {"Prompt", "LLM", "Answer", "Embedded"}
    folder = Path(slowcat_memory.idle.jobs.__file__).parent
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                names = {alias.name for alias in node.names}
                root = node.module.split(".")
                assert root[:2] != ["slowcat_memory", "engine"], path
                assert root[:2] != ["slowcat_memory", "runtime"], path
                if root[:2] == ["slowcat_memory", "providers"]:
                    assert names <= allowed and len(root) == 2, (path, names)
            modules = [alias.name for alias in getattr(node, "names", [])]
            assert not {"openai", "httpx", "socket", "urllib"} & set(modules), path


def test_budget_tokens_of_one_step_count_at_once(rig) -> None:
    """A step that asks several times is stopped by the tokens that it has itself spent."""
    asked: list[int] = []

    async def greedy(task: Any, context: Any) -> None:
        for n in range(9):
            asked.append(n)
            await context.ask(Note, "s", "u" * 400, "anna", max_tokens=512)

    llm = ScriptedLLM(lambda prompt: {"text": "x" * 400})
    options = IdleOptions(tokens_per_hour=150, on_battery=True)
    job, parts = Fake("greedy", greedy, needs="llm"), {"llm": llm}
    assert rig(job, options=options, parts=parts, said=["hello"]).done(patience_s=5.0) == 1
    assert 1 <= len(asked) <= 4


# ------------------------------------------------------------------- the budget itself

BERLIN = ZoneInfo("Europe/Berlin")


def test_budget_blocks_names_the_limit():
    options = IdleOptions(from_hour=22, to_hour=6, tokens_per_hour=100)
    plugged = [True]
    budget = Budget(options, lambda: not plugged[0])
    night, noon = datetime(2026, 5, 12, 23, tzinfo=BERLIN), datetime(2026, 5, 12, 12, tzinfo=BERLIN)
    assert budget.blocks("llm", noon, BERLIN) == "hours"
    assert budget.blocks("llm", night, BERLIN) == ""
    plugged[0] = False
    assert budget.blocks("llm", night, BERLIN) == "battery"
    plugged[0] = True
    later = night + timedelta(minutes=5)
    budget.spend(100, later)
    assert budget.blocks("llm", later, BERLIN) == "tokens"
    assert budget.blocks("embedder", later, BERLIN) == ""
    assert budget.blocks("llm", later + timedelta(hours=1), BERLIN) == ""


def test_budget_tokens_dated_by_a_wrong_clock_do_not_block_for_years():
    budget = Budget(IdleOptions(tokens_per_hour=100), lambda: False)
    ahead = NOW + timedelta(days=365 * 30)
    budget.remember([Run(task="t", job="j", at=ahead, ms=1, outcome="done", tokens_in=500)])
    assert budget.blocks("llm", NOW, UTC) == ""


# ------------------------------------------------------------------- what is checked when a prompt is sent: none with a local-only memory goes to another machine


class Said(Struct):
    """An answer."""

    text: str = ""


@pytest.fixture
def store(tmp_path: Path):
    with Store.open(tmp_path / "store") as opened:
        for n in (1, 2):
            opened.append(turn(n, id=0)).wait(30)
        notes = (memory("note/1"), memory("block/1", sources=(2,)))
        opened.apply("test", WriteBatch(memories=notes)).wait(30)
        yield opened


def send(store: Store, llm: ScriptedLLM, made_from: tuple[tuple[str, str], ...]) -> bool:
    prompt = Prompt(job="test", version=1, system="", user="…")
    try:
        asyncio.run(job_llm(llm, store).complete(prompt, Said, made_from))
    except PromptRefusedError:
        assert not llm.prompts
        return False
    assert len(llm.prompts) == 1
    return True


def remote() -> ScriptedLLM:
    return Remote(lambda prompt: {"text": ""})


def here() -> ScriptedLLM:
    return ScriptedLLM(lambda prompt: {"text": ""})


def test_prompt_gate_refuses_what_was_marked_after_the_prompt_was_written(store: Store) -> None:
    holds = names_of("anna", (1,), ("note/1", ""))
    assert holds == (("anna", "chunk/1"), ("anna", "note/1"))
    assert send(store, remote(), holds)
    store.apply("person", WriteBatch(marks=(("anna", "note/1", True),))).wait(30)
    assert not send(store, remote(), holds)
    assert send(store, here(), holds)
    assert send(store, remote(), names_of("anna", (1,)))


def test_prompt_gate_refuses_what_was_made_from_a_local_only_turn(store: Store) -> None:
    store.apply("person", WriteBatch(marks=(("anna", "chunk/2", True),))).wait(30)
    assert not send(store, remote(), names_of("anna", (), ("block/1",)))
    assert not send(store, remote(), names_of("anna", (2,)))


class Foreign:
    """An LLM of another package, that does not say where it is."""

    prompt_tokens = 1000


def test_prompt_gate_an_llm_that_does_not_say_where_it_is_is_remote(store: Store) -> None:
    assert job_llm(Foreign(), store).remote
