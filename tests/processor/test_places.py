"""A memory's place in a pipeline: wrong ones are named with the right one; nothing is stored twice."""

import pytest
from pipecat.pipeline.parallel_pipeline import ParallelPipeline
from pipecat.pipeline.pipeline import Pipeline
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import (
    LLMAssistantAggregator,
    LLMUserAggregator,
)
from pipecat.processors.filters.identity_filter import IdentityFilter
from pipecat.services.llm_service import LLMService

from slowcat_memory.processor.deps import find_neighbours
from slowcat_memory.processor.places import Places, is_second
from tests.support.memories import said
from tests.support.processors import aggregators, logged, memory
from tests.support.voice_pipeline import VoicePipeline, run


def parts():
    pair = aggregators(LLMContext())
    return pair.user(), pair.assistant(), LLMService(), IdentityFilter()


def warnings_of(pipeline: Pipeline, one) -> str:
    with logged("WARNING") as lines:
        find_neighbours(one, None, pipeline)
    return "\n".join(lines)


RIGHT = "between the user aggregator and the LLM"
WRONG = {
    "behind the LLM": (lambda u, m, lm, a, x: [u, lm, m, a], "behind the LLM"),
    "before the user aggregator": (lambda u, m, lm, a, x: [m, u, lm, a], "before the user agg"),
    "no user aggregator": (lambda u, m, lm, a, x: [m, lm], "no user aggregator in this pipeline"),
    "nested, behind the LLM": (
        lambda u, m, lm, a, x: [u, Pipeline([x, Pipeline([lm])]), Pipeline([m]), a],
        "behind the LLM",
    ),
    "no assistant aggregator": (lambda u, m, lm, a, x: [u, m, lm], "the assistant aggregator is"),
    "another branch": (
        lambda u, m, lm, a, x: [ParallelPipeline([u, x], [m, lm]), a],
        "another branch",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_places_a_wrong_one_is_named_with_the_right_one(config, name: str) -> None:
    build, wrong = WRONG[name]
    users, assistants, llm, other = parts()
    one = memory(config)
    seen = warnings_of(Pipeline(build(users, one, llm, assistants, other)), one)
    assert wrong in seen and (RIGHT in seen or "assistant" in name), seen
    assert seen.count("HybridContextualMemoryProcessor") == 1, "one warning"


RIGHTS = {
    "flat": lambda u, m, lm, a, x: [x, u, m, lm, a],
    "nested": lambda u, m, lm, a, x: [Pipeline([x, u]), Pipeline([Pipeline([m]), lm]), a],
    "a branch with its own": lambda u, m, lm, a, x: [ParallelPipeline([u, m, lm, a], [x])],
    "the aggregators around the branches": lambda u, m, lm, a, x: [
        u,
        ParallelPipeline([m, lm], [x]),
        a,
    ],
}


@pytest.mark.parametrize("name", RIGHTS)
def test_places_a_right_one_finds_its_neighbours_and_is_silent(config, name: str) -> None:
    users, assistants, llm, other = parts()
    one = memory(config)
    pipeline = Pipeline(RIGHTS[name](users, one, llm, assistants, other))
    with logged("WARNING") as lines:
        found = find_neighbours(one, None, pipeline)
    assert (found.user_aggregator, found.assistant_aggregator, found.llm) == (
        users,
        assistants,
        llm,
    )
    assert not lines


def test_places_each_branch_works_with_its_own_aggregators(config) -> None:
    ours, theirs = parts(), parts()
    one, other = memory(config), memory(config)
    branches = [
        [users, m, llm, assistants]
        for (users, assistants, llm, _), m in ((ours, one), (theirs, other))
    ]
    pipeline = Pipeline([ParallelPipeline(*branches)])
    assert find_neighbours(one, None, pipeline).user_aggregator is ours[0]
    assert find_neighbours(other, None, pipeline).user_aggregator is theirs[0]
    with logged("WARNING") as lines:
        assert not is_second(one, pipeline) and not is_second(other, pipeline)
    assert len(lines) == 1 and "put one memory before the branches" in lines[0]
    places = Places(pipeline)
    assert places.precedes(one, other) is None and places.precedes(ours[0], one)
    assert (
        len(places.of_kind(LLMUserAggregator)) == len(places.of_kind(LLMAssistantAggregator)) == 2
    )


def test_places_of_two_memories_for_one_user_the_second_stores_nothing(config) -> None:
    async def scenario() -> list[str]:
        voice = VoicePipeline(lambda _: "I see.")
        voice._memory = [memory(config), Pipeline([memory(config)])]
        with logged("WARNING") as lines:
            async with voice:
                await voice.exchange("my dog is called Max", user_id="anna")
        return lines

    lines = run(scenario())
    assert sum("this one does nothing" in line for line in lines) == 1
    assert said(config) == [("anna", "my dog is called Max"), ("Assistant", "I see.")]
