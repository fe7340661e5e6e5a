"""Whatever a model server does to any job that asks it: an end, and nothing made of a bad answer.

The layers below the job are made by a good LLM first; then the job alone meets the fault, through the
real loop and the real client. Every fault for every job is slow: two jobs meet them all, and each
job one of each kind.
"""

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from slowcat_memory.idle.registry import BUILT_IN
from slowcat_memory.providers import Prompt, ThinkingOptions
from slowcat_memory.providers.llm.openai import OpenAILLM
from slowcat_memory.testing import ScriptedLLM
from tests.support import asking_jobs
from tests.support.asking_jobs import ASKING, ledger
from tests.support.faulty_llm_server import FAULTS, Fault, FaultServer
from tests.support.parroting_llm import Mind, parrot, think

BEACH = ("I love the beach in Lisbon with my sister.", "Lisbon is nice.")  # a pair to merge
SAID = [*asking_jobs.SAID[:4], BEACH, asking_jobs.SAID[5]]
ALWAYS = {"500", "schema violation"}
READERS = {"contextualize", "rerank"}  # they meet every fault each time, for all
# What these make by rule meanwhile stands until something changes.
CONTENT = {"blocks", "merge"}
HANGS = {"hang", "slow first token", "stall", "drip", "endless reasoning"}
QUICK = {"first_token_s": 0.1, "between_tokens_s": 0.1, "total_s": 0.3, "connect_s": 0.3}
UNSEEN = "silent truncation"  # of a prompt that is too short to tell: it was read all the same
JOBS = {job.name: job for job in BUILT_IN if job.name in ASKING}
CASES = [
    pytest.param(
        fault, name, id=f"{name}-{fault.name}",
        marks=() if fault.name in ALWAYS or name in READERS else pytest.mark.slow,
    )
    for name in sorted(ASKING)
    for fault in FAULTS
]  # fmt: skip


def patience(fault: Fault) -> dict[str, float]:
    """Return the limits of the client: short where the server hangs, else a busy machine's."""
    return QUICK if fault.name in HANGS else {}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return stores in which only one job's work is not done, by its name."""
    made: dict[str, tuple[Path, Any]] = {}

    def prepare(name: str) -> tuple[Path, Any]:
        if name not in made:
            folder = tmp_path_factory.mktemp(name) / "store"
            others = tuple(job for job in BUILT_IN if job.name != name)
            mind = Mind(folder, ScriptedLLM(parrot), others)
            for number in range(2):
                mind.talk(f"s{number}", SAID)
            ledger(mind)
            mind.engine.flush(indexed=True)
            mind.think(days=0.1)
            mind.clock.advance(8 * 86400)
            made[name] = folder, mind.clock.now
            mind.close()
        return made[name]

    return prepare


def made_by(mind: Mind, name: str) -> list[str]:
    """List the models behind what a job has made; "" for a rule."""
    with mind.engine.store.snapshot() as snapshot:
        records = [*snapshot.memories("anna"), *snapshot.contexts("anna"), *snapshot.keys("anna")]
    return [one.made.model for one in records if one.made and one.made.job == name]


@pytest.mark.parametrize(("fault", "name"), CASES)
def test_every_job_faults_a_fault_ends_in_what_is_true_or_in_nothing(
    fault: Fault, name: str, prepared: Any, tmp_path: Path
) -> None:
    folder, now = prepared(name)
    shutil.copytree(folder, tmp_path / "store")
    job = JOBS[name]
    mind = Mind(tmp_path / "store", None, (job,))
    mind.clock.now = now
    asked: list[str] = []

    def good(body: dict[str, Any]) -> str:
        asked.append(body["messages"][-1]["content"])
        return json.dumps(parrot(Prompt(job=name, version=1, system="", user=asked[-1])))

    async def serve() -> None:
        async with FaultServer(good) as server:
            server.fault = fault.name
            llm = OpenAILLM(ThinkingOptions(url=server.url, **patience(fault)))  # type: ignore[arg-type]
            run = lambda **more: asyncio.to_thread(  # noqa: E731
                think, mind.engine, mind.clock, llm, (job,), **more
            )
            await run(patience_s=2.0 if fault.outcome == "endpoint" else 2000.0)
            if fault.outcome in ("endpoint", "bad", "long") and fault.name != UNSEEN:
                assert not any(made_by(mind, name)), "something is made of a bad answer"
            with mind.engine.store.snapshot() as snapshot:
                steps = len(snapshot.runs())
            assert steps < 400, "it spins"
            if fault.outcome == "endpoint":
                server.fault = "none"
                assert await run(patience_s=2000.0) == 0

    try:
        with mind.engine.store.snapshot() as snapshot:
            before = {run.id for run in snapshot.runs()}
        asyncio.run(asyncio.wait_for(serve(), 60))
        with mind.engine.store.snapshot() as snapshot:
            waiting = [one for one in snapshot.tasks(state="waiting") if one.job == name]
            dead = [one for one in snapshot.tasks(state="dead") if one.job == name]
            runs = [run for run in snapshot.runs() if run.id not in before]
        assert asked, "the job never asked: nothing is shown"
        assert not waiting
        if fault.outcome in ("ok", "endpoint"):
            assert not dead
            assert (
                any(made_by(mind, name))
                or name == "merge"
                or (name in CONTENT and fault.outcome == "endpoint")
            )
        told = " ".join(run.error for run in runs)
        assert not any(word in told for word in ("dentist", "Clara", "Lisbon"))
    finally:
        mind.close()
