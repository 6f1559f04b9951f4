"""The kiosk is importable by name, as a user's own domain and agents are."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
