"""passhat: can a customer-service agent be relied on? Episodes, grades, and pass^k.

Importing the package registers its Gymnasium environments: ``passhat/<Domain>-v0`` for every folder
of ``domains/``, and ``passhat/Desk-v0``, which takes ``domain=``.
"""

from .registration import register_with_gymnasium

__version__ = "0.1.0"

register_with_gymnasium()
