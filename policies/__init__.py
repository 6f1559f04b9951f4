"""Policies: one document per domain for the agent to obey, and the same rules as checks.

`engine` (rules and rulebooks), `case` (an episode as rules read it), `facts` (who said a fact),
`conduct` and `consent` (the rules that hold everywhere), `desk` (what those must know of a domain).
"""
