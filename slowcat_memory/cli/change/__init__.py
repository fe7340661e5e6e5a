"""Commands that change a memory: remember, pin, forget, undo, blocks, icebreaker."""
