"""Guarding text on its way in and out: secrets, prompt injection, the fence around recalled text."""
