"""The world outside of the compiled function: arguments, guards, state and results."""
