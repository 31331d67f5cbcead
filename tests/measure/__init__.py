"""What the measures of the library have in common: calls of it, each compiled and compared with eager; counts and reasons."""
