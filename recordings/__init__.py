"""Readers of other people's results and conversations."""
