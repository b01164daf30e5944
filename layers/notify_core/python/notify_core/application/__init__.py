"""Use cases, one verb a module: load, decide, write, tell."""
