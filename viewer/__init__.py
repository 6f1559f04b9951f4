"""The viewer: a store as web pages on this machine, to read failures in.

`server` (address, port, browser), `app` (routes), `guard` (who may ask, and what a page may load),
`site` (what every page needs), `rendering` (templates); `index` (what is found by reading
transcripts, in a file beside the store), `search` (queries and snippets), `queries` (what is asked
of the store), `figures` (of a run); then the pages.
"""

from __future__ import annotations
