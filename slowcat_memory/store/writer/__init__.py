"""The one writer thread: queue, group commit, tier moves."""
