"""The optional language model: a client for any OpenAI-compatible server, priced and fenced, off by default."""
