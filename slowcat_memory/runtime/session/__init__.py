"""What a session starts with: preamble, icebreaker."""
