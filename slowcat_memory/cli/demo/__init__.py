"""``slowcat-memory demo``: a scripted conversation of several weeks through the real pipeline."""
