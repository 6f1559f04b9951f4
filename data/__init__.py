"""Worlds and tasks that ship with passhat; read through `importlib.resources`."""
