"""``python -m pessimal`` is the command ``pessimal``."""

import sys

from pessimal.cli import main

if __name__ == "__main__":
    sys.exit(main())
