"""The rule-based agents: a small agent without a model for each business.

They never see the task, only what they are told: they identify the customer, look up what they
need, propose, wait for a yes, write, and report. That makes them a baseline, not a ceiling.
"""

from __future__ import annotations

from ..agent import Brief
from ..notes import sells_flights
from ..scripted import ScriptedAgent


def rule_based_agent(brief: Brief) -> ScriptedAgent:
    """The agent for the business that has the brief's tools; that of a shop if it is no other."""
    if sells_flights({tool["name"] for tool in brief.tools}):
        from .airline import AirlineAgent

        return AirlineAgent(brief)
    from .retail import RetailAgent

    return RetailAgent(brief)
