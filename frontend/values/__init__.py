"""What the front end knows of a Python value while it reads, and how values of several paths join."""
