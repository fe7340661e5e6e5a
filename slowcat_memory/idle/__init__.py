"""Idle work: done while no one is speaking, to make later recall better."""
