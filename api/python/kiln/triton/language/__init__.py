"""``import kiln.triton.language as tl``: the names of kiln.language."""

from ...language import *  # noqa: F401,F403
from ...language import __all__  # noqa: F401
from . import extra  # noqa: F401
