"""``python -m transcript_channels.simulator``."""

from transcript_channels.simulator.process import main

raise SystemExit(main())
