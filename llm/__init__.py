"""The optional language model: a client for any OpenAI-compatible server, off by default."""
