"""Agreement through files on one machine."""
