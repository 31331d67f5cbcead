"""Functions that use one feature of the language each, with calls that take its different branches."""
