"""Whatever a model server does: every task ends done or dead, nothing escapes, nothing false stays.

Each job that asks an LLM, through the real loop and the real client. The server goes wrong in one
way for as long as it takes, and comes back only for what nobody is to blame for.
"""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from slowcat_memory.idle.jobs.extraction.contextualize import Contextualize
from slowcat_memory.idle.jobs.feedback import Rerank
from slowcat_memory.idle.registry import BUILT_IN
from slowcat_memory.providers import Prompt, ThinkingOptions
from slowcat_memory.providers.llm.openai import OpenAILLM
from slowcat_memory.records import SessionEdge
from tests.support.described_chunks import reply
from tests.support.faulty_llm_server import FAULTS, Fault, FaultServer
from tests.support.idle_doubles import Rig
from tests.support.job_faults import UNSEEN, patience
from tests.support.judged_queries import SAID, Talk, grading

GRADES = grading(dentist=2)
JOBS = {"contextualize": Contextualize, "rerank": Rerank}


def test_job_faults_these_are_built_in_and_ask() -> None:
    assert set(JOBS) <= {job.name for job in BUILT_IN if job.needs == "llm"}


def good(body: dict[str, Any]) -> str:
    user = body["messages"][-1]["content"]
    prompt = Prompt(job="x", version=1, system="", user=user)
    answers = reply if "Write about the turns" in user else GRADES._reply
    return json.dumps(answers(prompt))


def thought(talk: Talk) -> tuple[set[str], set[str]]:
    """Return all texts that were stored as contexts, and the ids of keys."""
    with talk.rig.store.snapshot() as snapshot:
        contexts = {context.text for context in snapshot.contexts("anna")}
        return contexts, {key.id for key in snapshot.keys("anna")}


@pytest.mark.parametrize("name", JOBS)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_job_faults_a_fault_ends_in_what_is_true_or_in_nothing(
    fault: Fault, name: str, tmp_path: Path
) -> None:
    talk = Talk(tmp_path, JOBS[name]())
    talk.ask("Where does my dentist work?", [0, 1, 2])
    rig: Rig = talk.rig
    rig.loop._options = replace(rig.options, backoff_s=1.0)
    rig.store.append(SessionEdge(session="s", scope="anna", kind="end", at=rig.clock()))
    rig.store.flush(None)

    async def run() -> None:
        async with FaultServer(good) as server:
            server.fault = fault.name
            llm = OpenAILLM(ThinkingOptions(url=server.url, **patience(fault)))  # type: ignore[arg-type]
            rig.contexts._deps = replace(rig.contexts._deps, llm=llm)
            away = fault.outcome == "endpoint"
            left = await rig.loop.run_until_done(patience_s=1.0 if away else 600.0)
            contexts, keys = thought(talk)
            if fault.outcome == "ok":
                assert left == 0 and not rig.tasks("dead")
            elif fault.name != UNSEEN:
                assert not contexts and not keys
            if away:
                assert left and not rig.tasks("dead"), "a server that is away burns no attempts"
                server.fault = "none"
                assert await rig.loop.run_until_done(patience_s=600.0) == 0
            await llm.close()

    try:
        asyncio.run(asyncio.wait_for(run(), 30))
        assert not rig.tasks("waiting")
        contexts, keys = thought(talk)
        lines = (*SAID, "Where does my dentist work?")
        assert all(any(line in text for line in lines) for text in contexts)
        assert bool(contexts or keys) is not bool(rig.tasks("dead"))
        if fault.name != UNSEEN:
            assert bool(rig.tasks("dead")) is (fault.outcome in ("bad", "long"))
        with rig.store.snapshot() as snapshot:
            told = " ".join(run.error for run in snapshot.runs())
        assert not any(line in told for line in lines)
    finally:
        rig.close()
