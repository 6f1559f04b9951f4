"""Policies: one document per domain for the agent to obey, and the same rules as checks.

`engine` (rules and rulebooks), `case` (an episode as rules read it), `facts` (who said a fact).
"""
