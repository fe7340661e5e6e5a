"""Sends the probes to a model, and sums up what it did with each job's."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from msgspec import Struct

from slowcat_memory.cli.measure.probes import Judged, Probe
from slowcat_memory.core.text.normalize import estimate_tokens
from slowcat_memory.errors import BadAnswerError, PromptTooLongError
from slowcat_memory.providers import LLM

Verdict = Literal["good", "usable", "no"]

GROUNDED, FINDS = 0.8, 0.6  # shares from which on a job is done well
RIGHT = 0.75  # of judgements; a model that guesses gets half of the pairs
SOME = 0.3  # the least share of what is wanted for a job to be worth its time
JUDGING = ("merge", "rerank")  # jobs whose answers are right or wrong, and quote nothing


class Outcome(Struct, frozen=True, kw_only=True):
    """What came of one probe.

    Attributes:
        judged: What the checks say; None where no answer could be used.
        problem: Why not, "" if it could.
        first_try: Whether the first answer could be used, and not only the repeated one.
        first_s: Seconds until the first token.
        total_s: Seconds in all.
    """

    job: str
    judged: Judged | None = None
    problem: str = ""
    model: str = ""
    first_try: bool = False
    tokens_in: int = 0
    tokens_out: int = 0
    first_s: float = 0.0
    total_s: float = 0.0


class JobFigures(Struct, frozen=True, kw_only=True):
    """What a model did with a job's prompts, all shares from 0 to 1.

    Attributes:
        answers: Share of prompts with a usable answer.
        first_try: Share of prompts whose first answer was usable.
        grounded: Share of what it wrote that was said, or is right; None if it wrote nothing.
        finds: Share of what a good answer has.
        seconds: Of one answer, on average.
    """

    job: str
    prompts: int
    answers: float
    first_try: float
    grounded: float | None
    finds: float
    seconds: float
    verdict: Verdict


class Figures(Struct, frozen=True, kw_only=True):
    """What a model did with all jobs.

    Attributes:
        prompt_rate: Tokens of prompts read in a second; None if unknown.
        answer_rate: Tokens of answers written in a second; None if unknown.
    """

    model: str
    jobs: list[JobFigures]
    prompt_rate: float | None
    answer_rate: float | None
    seconds: float
    problems: list[str]


async def run(
    llm: LLM, made: Sequence[Probe], told: Callable[[str], object] = lambda job: None
) -> list[Outcome]:
    """Send all probes, one after another.

    Args:
        told: Called with the name of each job before its prompt is sent.

    Raises:
        EndpointError: The server does not answer.
    """
    outcomes = []
    for probe in made:
        told(probe.job)
        outcomes.append(await _ask(llm, probe))
    return outcomes


async def _ask(llm: LLM, probe: Probe) -> Outcome:
    try:
        answer = await llm.complete(probe.prompt, probe.into)
    except (BadAnswerError, PromptTooLongError) as error:
        return Outcome(job=probe.job, problem=error.message)
    size = estimate_tokens(probe.prompt.system) + estimate_tokens(probe.prompt.user)
    return Outcome(
        job=probe.job,
        judged=probe.judge(answer.value),
        model=answer.model,
        first_try=answer.tries <= 1,
        tokens_in=answer.tokens_in // max(answer.tries, 1) or size,
        tokens_out=answer.tokens_out // max(answer.tries, 1),
        first_s=answer.first_s,
        total_s=answer.total_s,
    )


def figures(outcomes: Sequence[Outcome]) -> Figures:
    jobs = dict.fromkeys(one.job for one in outcomes)
    read = sum(one.first_s for one in outcomes)
    wrote = sum(one.total_s - one.first_s for one in outcomes)
    return Figures(
        model=next((one.model for one in outcomes if one.model), ""),
        jobs=[_of_job([one for one in outcomes if one.job == job]) for job in jobs],
        prompt_rate=_rate(sum(one.tokens_in for one in outcomes if one.first_s), read),
        answer_rate=_rate(sum(one.tokens_out for one in outcomes if one.total_s), wrote),
        seconds=round(sum(one.total_s for one in outcomes), 1),
        problems=sorted({one.problem for one in outcomes if one.problem}),
    )


def _of_job(outcomes: Sequence[Outcome]) -> JobFigures:
    count, job = len(outcomes), outcomes[0].job
    judged = [one.judged for one in outcomes if one.judged is not None]
    items, kept = sum(one.items for one in judged), sum(one.kept for one in judged)
    wanted, found = sum(one.wanted for one in judged), sum(one.found for one in judged)
    answers = len(judged) / count
    grounded = kept / items if items else None
    finds = answers * found / wanted if wanted else 0.0
    return JobFigures(
        job=job,
        prompts=count,
        answers=answers,
        first_try=sum(one.first_try for one in outcomes) / count,
        grounded=grounded,
        finds=finds,
        seconds=round(_mean(one.total_s for one in outcomes), 2),
        verdict=_verdict(job, answers, grounded or 0.0, finds),
    )


def _verdict(job: str, answers: float, grounded: float, finds: float) -> Verdict:
    """Return what a model is for a job; what was not said is taken out, so it may still be of use."""
    if job in JUDGING:
        return "good" if answers * grounded >= RIGHT else "no"
    if answers == 1.0 and grounded >= GROUNDED and finds >= FINDS:
        return "good"
    return "usable" if finds >= SOME else "no"


def _rate(tokens: int, seconds: float) -> float | None:
    return round(tokens / seconds, 1) if tokens and seconds > 0 else None


def _mean(values: Iterable[float]) -> float:
    every = list(values)
    return sum(every) / len(every) if every else 0.0
