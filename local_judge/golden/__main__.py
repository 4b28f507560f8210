"""`python -m local_judge.golden FILE`."""

import sys

from local_judge.golden.command import main

if __name__ == "__main__":
    sys.exit(main())
