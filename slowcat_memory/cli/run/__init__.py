"""Commands that keep running: chat, idle, jobs."""
