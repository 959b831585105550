"""Everything in git: carried there, compared, and brought back."""
