"""What all tests share."""

from hypothesis import settings

# A busy machine is slow, not wrong.
settings.register_profile("passhat", deadline=None)
settings.load_profile("passhat")
