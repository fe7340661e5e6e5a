"""The owner's side: a socket, and a session for each client."""
