"""The tools that read and change a memory, and their door for hosts that speak MCP."""
