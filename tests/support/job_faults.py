"""Limits and faults of servers that the job tests share."""

QUICK = {"first_token_s": 0.1, "between_tokens_s": 0.1, "total_s": 0.3, "connect_s": 0.3}


UNSEEN = "silent truncation"  # of a prompt that is too short to tell: it was read all the same
