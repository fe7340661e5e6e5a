"""The memory as a Model Context Protocol server, for hosts such as desktop chat applications."""
