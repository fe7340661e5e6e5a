"""Options of idle work."""

from typing import Annotated

from msgspec import Meta, Struct

from slowcat_memory.idle.job import JobOptions


class IdleOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Work done while no one is speaking.

    Attributes:
        enabled: Run idle jobs. Off, memory works as without an LLM; old texts, indexes and what
            was forgotten are taken care of by the next ``slowcat-memory doctor --repair``.
        grace_s: Seconds of silence before work starts, 0 to 600. A user who was just asked
            something answers within two or three.
        lost_s: Seconds without a sign, 1 to 3600, after which an activity that never reported its
            end counts as ended.
        from_hour: Local hour (0 to 23) from which an LLM or an embedding model may be used; with
            ``to_hour``, over midnight too: 22 and 6. The same hour twice: all day.
        to_hour: Local hour (0 to 24) at which that ends.
        tokens_per_hour: Limit for prompts and answers of all jobs; 0 for none.
        on_battery: Use an LLM or a model while the machine runs on its battery.
        rest_s: Seconds between looks for work when there is none.
        step_s: Seconds that one step may take before it fails; a summary on a slow machine takes
            a few minutes. One job's limit is ``[jobs.NAME] timeout_s``.
        tries: How often a task is tried whose result cannot be used, 1 to 20.
        backoff_s: Seconds until the second try; each later one waits four times as long.
        backoff_most_s: Longest wait in seconds.
        jobs: Settings of single jobs by name, ``[jobs.NAME]``.
    """

    enabled: bool = True
    grace_s: Annotated[float, Meta(ge=0, le=600)] = 3.0
    lost_s: Annotated[float, Meta(ge=1, le=3600)] = 60.0
    from_hour: Annotated[int, Meta(ge=0, le=23)] = 0
    to_hour: Annotated[int, Meta(ge=0, le=24)] = 0
    tokens_per_hour: Annotated[int, Meta(ge=0, le=1_000_000_000)] = 0
    on_battery: bool = False
    rest_s: Annotated[float, Meta(gt=0, le=3600)] = 2.0
    step_s: Annotated[float, Meta(gt=0, le=86_400)] = 300.0
    tries: Annotated[int, Meta(ge=1, le=20)] = 3
    backoff_s: Annotated[float, Meta(ge=0, le=86_400)] = 30.0
    backoff_most_s: Annotated[float, Meta(ge=0, le=604_800)] = 21600.0
    jobs: dict[str, JobOptions] = {}

    def of_job(self, name: str) -> JobOptions:
        return self.jobs.get(name, JobOptions())
