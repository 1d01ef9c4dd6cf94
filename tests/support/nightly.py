"""What the nightly run does more of: with KILN_NIGHTLY=1 every test takes all it can."""

import os

NIGHTLY = os.environ.get("KILN_NIGHTLY") == "1"


def by_day(few, all_of_them):
    """`few` in the default run, `all_of_them` at night."""
    return all_of_them if NIGHTLY else few
