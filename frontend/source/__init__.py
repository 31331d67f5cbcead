"""Finding and parsing source: texts, the functions in them, scopes and liveness."""
