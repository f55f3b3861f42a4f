"""Embedding texts, and counting tokens."""
