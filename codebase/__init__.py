"""Reading a project: its identity, its files and symbols, and the evidence of a memory."""
