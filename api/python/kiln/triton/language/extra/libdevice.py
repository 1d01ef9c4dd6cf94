"""libdevice's functions, as far as the language has them; the others are errors at the line that calls them."""

from ....language import extra as _extra

globals().update({name: value for name, value in vars(_extra.libdevice).items() if not name.startswith("_")})
