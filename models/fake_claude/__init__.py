"""fake-claude: a server on this machine that speaks Anthropic's Messages API, without a model.

`serving` runs it in a thread, for tests; ``passhat fake-claude`` runs it by itself.

    with serving(lambda body: "Hello!") as server:
        client = anthropic.Anthropic(base_url=server.url, api_key="anything")
"""

from .answers import Answer, Brain, thinks
from .app import FakeClaude, Seen
from .faults import FaultRate, parse_fault
from .server import serving

__all__ = ["Answer", "Brain", "FakeClaude", "FaultRate", "Seen", "parse_fault", "serving", "thinks"]
