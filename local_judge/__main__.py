"""`python -m local_judge`: the same as the `local-judge` command."""

from local_judge.cli import main

if __name__ == "__main__":
    main()
