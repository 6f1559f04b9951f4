"""Domains: one folder per business, and the machinery they share.

`domain` (Domain, found by folder), `world` (seed rows and clock), `database` (one episode's rows,
forks, journal), `tool` (functions as tools).
"""
