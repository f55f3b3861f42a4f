"""Text in, vectors out; and tokens counted."""
