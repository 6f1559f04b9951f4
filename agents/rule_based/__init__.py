"""The rule-based agent: understanding (`words`), questions (`answers`), and the desk (`agent`)."""

from .agent import RuleBasedAgent

__all__ = ["RuleBasedAgent"]
