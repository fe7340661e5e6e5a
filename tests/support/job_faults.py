"""Limits and faults of servers that the job tests share."""

from tests.support.faulty_llm_server import Fault

HANGS = {"hang", "slow first token", "stall", "drip", "endless reasoning"}
QUICK = {"first_token_s": 0.1, "between_tokens_s": 0.1, "total_s": 0.3, "connect_s": 0.3}


UNSEEN = "silent truncation"  # of a prompt that is too short to tell: it was read all the same


def patience(fault: Fault) -> dict[str, float]:
    """Return the limits of the client: short where the server hangs, else a busy machine's."""
    return QUICK if fault.name in HANGS else {}
