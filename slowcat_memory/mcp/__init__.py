"""The memory as a Model Context Protocol server."""
