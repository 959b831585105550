"""The commands: each module, or package, is named as its command."""
