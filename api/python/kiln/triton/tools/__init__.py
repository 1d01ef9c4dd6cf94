"""``triton.tools``: descriptors that host code makes."""

from . import tensor_descriptor  # noqa: F401
