"""The built-in idle jobs; each module or package is one kind of work."""
