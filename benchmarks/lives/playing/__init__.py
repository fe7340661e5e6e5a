"""Playing a life through the real processor, and recording what the memory shows."""
