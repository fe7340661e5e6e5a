"""What an operator of a fleet runs: idle workers, moving memories in and out, a look at who holds what."""
