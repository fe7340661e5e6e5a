"""Which files a sealed index consists of, and how a child process publishes them as a whole."""
