"""``slowcat-memory check-llm``: what is a language model on this machine good for?"""

from typing import TYPE_CHECKING, Annotated

import typer

from slowcat_memory.cli.shared.output import out, print_json, row, table, waiting, warn
from slowcat_memory.cli.shared.settings import AsJson, Settings, settings
from slowcat_memory.errors import ConfigError, EndpointError

if TYPE_CHECKING:
    from slowcat_memory.cli.measure.trial import Figures, JobFigures, Outcome
    from slowcat_memory.providers.llm.base import ThinkingOptions

PATIENCE_S = 600.0  # a slow model is measured, not given up
PURPOSES = {
    "facts": "write down facts",
    "entities": "know who is who",
    "contextualize": "describe turns",
    "session_summary": "sum up conversations",
    "merge": "tell repeated facts apart",
    "rerank": "judge what was recalled",
}
VERDICTS = {"good": "good", "usable": "of some use", "no": "no"}
STYLES = {"good": "green", "usable": "yellow", "no": "red"}


def check_llm(
    ctx: typer.Context,
    url: Annotated[
        str | None,
        typer.Option(
            help="The server, up to /v1; by default that of idle_llm.url, or the first one on "
            "this machine."
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="The model; by default the configured or first one.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Half of the prompts.")] = False,
    as_json: AsJson = False,
) -> None:
    """Measure a language model on the prompts of idle work, about two made-up conversations.

    Answers are judged by the same checks as in use: can they be read (form), was said what they say
    (grounding), and do they have what a good answer has. Also shows how fast the model reads and
    writes. Nothing of your memory is read or sent. Takes a minute or two, longer with a model on a
    processor.

    Example: [bold]slowcat-memory check-llm --url http://127.0.0.1:1234/v1 --model qwen3-4b[/]
    """
    import asyncio

    from slowcat_memory.cli.measure.trial import figures

    options = _options(settings(ctx), url, model)
    with waiting("asking the model", quiet=as_json) as step:
        outcomes = asyncio.run(_measured(options, step, quick=quick))
    found = figures(outcomes)
    return print_json(found) if as_json else _print(found, options)


async def _measured(options: "ThinkingOptions", step: object, *, quick: bool) -> "list[Outcome]":
    from slowcat_memory.cli.measure.probes import probes
    from slowcat_memory.cli.measure.talks import sample
    from slowcat_memory.cli.measure.trial import run
    from slowcat_memory.providers.llm.openai import OpenAILLM

    llm = OpenAILLM(options)
    try:
        if not await llm.probe():
            hint = "Is the server running, with a model, and does the URL end in /v1?"
            raise EndpointError(f"no model answers at {options.url}", hint=hint)
        return await run(llm, probes(sample(), quick=quick), step)  # type: ignore[arg-type]  # shows a step
    finally:
        await llm.close()


def _options(known: Settings, url: str | None, model: str | None) -> "ThinkingOptions":
    """Return the options of the model to measure.

    Raises:
        ConfigError: There is none.
    """
    from msgspec.structs import replace

    from slowcat_memory.cli.setup.model_servers import find_servers

    thinking = known.config.thinking
    place = url or thinking.url or next((server.url for server in find_servers()), "")
    if not place:
        hint = "Start one (LM Studio, Ollama, llama-server), or name it with --url"
        raise ConfigError("no model server was found on this machine", hint=hint)
    return replace(
        thinking,
        url=place,
        model=model or ("" if url else thinking.model),
        first_token_s=PATIENCE_S,
        between_tokens_s=PATIENCE_S,
        total_s=PATIENCE_S,
    )


def _print(found: "Figures", options: "ThinkingOptions") -> None:
    console = out()
    console.print(f"{found.model or 'The model'} at {options.url}", markup=False, style="bold")
    made = table("job", "good for it?", ">readable", ">grounded", ">complete", ">seconds")
    for one in found.jobs:
        row(
            made, PURPOSES[one.job], VERDICTS[one.verdict], *_shares(one), style=STYLES[one.verdict]
        )
    console.print(made)
    console.print(
        f"It reads {_rate(found.prompt_rate)} and writes {_rate(found.answer_rate)}; "
        f"{found.seconds:,.0f} s in all."
    )
    for problem in found.problems:
        warn(f"An answer could not be used: {problem}.")
    console.print(_advice(found), soft_wrap=True)


def _shares(one: "JobFigures") -> tuple[str, ...]:
    grounded = "" if one.grounded is None else f"{one.grounded:.0%}"
    return f"{one.answers:.0%}", grounded, f"{one.finds:.0%}", f"{one.seconds:.1f}"


def _rate(tokens: float | None) -> str:
    return f"{tokens:,.0f} tokens a second" if tokens else "tokens that are not counted"


def _advice(found: "Figures") -> str:
    from slowcat_memory.cli.measure.trial import JUDGING

    bad = [one.job for one in found.jobs if one.verdict == "no"]
    if len(bad) == len(found.jobs):
        return "Better none: without a model, idle work is done by rules. Try a larger one."
    lines = ["Use it: set url and model in \\[idle_llm]."]
    if guesses := [job for job in bad if job in JUDGING]:
        switches = ", ".join(f"\\[jobs.{job}] enabled = false" for job in guesses)
        lines.append(f"It guesses where it should judge, so switch that off: {switches}.")
    if weak := [job for job in bad if job not in JUDGING]:
        switches = ", ".join(f"\\[jobs.{job}]" for job in weak)
        lines.append(
            f"It finds little of what was said; name a larger one in the `model` of {switches}. "
            "What was not said is taken out in any case."
        )
    return " ".join(lines)
