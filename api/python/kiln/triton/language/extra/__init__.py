"""``tl.extra``."""

from . import libdevice  # noqa: F401
from ....language import extra as _extra

cuda, hip = _extra.cuda, _extra.hip
