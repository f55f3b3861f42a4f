"""Reading a project: who it is, and what a memory was seen in."""
