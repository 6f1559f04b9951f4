"""Agents: the contract (`agent`), the kinds of agents (`registry`), and those without a model."""
