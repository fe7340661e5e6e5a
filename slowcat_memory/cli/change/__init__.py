"""Commands that change the memory: remember, forget, undo, edit a block, queue an icebreaker."""
