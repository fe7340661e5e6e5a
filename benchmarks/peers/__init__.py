"""Other memories beside ours, each behind the same few verbs. See ``python -m benchmarks.peers --help``."""
