"""The start of a session: preamble and icebreaker."""
