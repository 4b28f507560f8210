"""`python -m tests.golden FILE`."""

import sys

from tests.golden.command import main

if __name__ == "__main__":
    sys.exit(main())
