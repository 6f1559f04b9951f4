"""The airline: customers book, change and cancel flights."""

from __future__ import annotations

from .. import common_tools
from ..domain import Domain
from ..tool import tools_in
from . import tools
from .profile import profile
from .tables import METADATA

DOMAIN = Domain("airline", tables=METADATA, tools=tools_in(tools, common_tools), profile=profile)
