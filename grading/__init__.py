"""Graders: transcript and outcome in, verdict with a reason out.

`outcome` (rows), `communication` (facts told, refusals, hand-over), `grading` (all of them with the
policy rules, the reward, and whose fault a failure is).
"""
