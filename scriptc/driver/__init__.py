"""Run the stages of a compilation: Python source to IR to C."""
