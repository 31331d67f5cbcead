"""Composite functions in plain Python over torch functions; the front end compiles them like the user's own code."""
