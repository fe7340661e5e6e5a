"""The past again: a recall as of then, and everything derived made anew from the log."""
