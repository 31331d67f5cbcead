"""The front end's knowledge of Python values during a reading, and the joins of values of several paths."""
