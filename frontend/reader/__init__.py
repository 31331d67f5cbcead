"""The reader: its components, and the functions that read statements and expressions."""
