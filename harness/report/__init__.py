"""The report: one run as one HTML file that needs nothing else."""

from __future__ import annotations

from .page import Written, write_report

__all__ = ["Written", "write_report"]
