"""The shop: customers change, cancel, return and exchange what they ordered."""

from __future__ import annotations

from .. import common_tools
from ..domain import Domain
from ..tool import tools_in
from . import tools
from .profile import profile
from .tables import METADATA

DOMAIN = Domain("retail", tables=METADATA, tools=tools_in(tools, common_tools), profile=profile)
