"""How much may be thought, and when."""

from msgspec import Struct

from slowcat_memory.idle.scheduler.idle_gate import GateOptions


class IdleOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Thinking while nobody speaks.

    Attributes:
        enabled: Whether anything is thought at all. Off, memory works as without an LLM, and old
            texts, indexes and what was forgotten are seen to when the store is next tidied.
        grace_s: Seconds that nothing must have gone on. Somebody who was just asked a question
            answers within two or three.
        lost_s: Seconds without any sign after which what seems to go on is taken to have ended.
        from_hour: Hour of the user's day from which an LLM or a model may be used; with
            ``to_hour``, over midnight too: 22 and 6. The same hour twice for all day.
        to_hour: Hour at which that ends.
        tokens_per_hour: Of prompts and answers, for all jobs; 0 for any number.
        on_battery: Whether an LLM or a model may be used while the machine runs on its battery.
        rest_s: Seconds between looks for work when there is none.
        step_s: Seconds that a step may take before it is given up as failed; a job's own options
            may name another. A summary on a slow machine takes a few minutes.
        tries: How often a task is tried whose outcome cannot be used.
        backoff_s: Seconds until the second try; each later one waits four times as long.
        backoff_most_s: And never longer than this.
    """

    enabled: bool = True
    grace_s: float = 3.0
    lost_s: float = 60.0
    from_hour: int = 0
    to_hour: int = 0
    tokens_per_hour: int = 0
    on_battery: bool = False
    rest_s: float = 2.0
    step_s: float = 300.0
    tries: int = 3
    backoff_s: float = 30.0
    backoff_most_s: float = 21600.0

    @property
    def gate(self) -> GateOptions:
        """What of it the gate needs."""
        return GateOptions(grace_s=self.grace_s, lost_s=self.lost_s)
