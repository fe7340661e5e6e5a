"""``slowcat-memory demo``: a scripted conversation over several weeks, played through the real pipeline."""
