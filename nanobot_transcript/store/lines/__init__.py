"""Rules of transcript lines that every backend shares: how a line is written, what later lines do to it, what goes."""
