"""``python -m nanobot_transcript``: the command ``nanobot-transcript``."""

import sys

from nanobot_transcript.cli import main

if __name__ == "__main__":
    sys.exit(main())
