"""The sections of the settings, one module each."""
