"""What crosses the socket between an owner and its clients: frames, messages, calls."""
