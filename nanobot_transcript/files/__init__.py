"""How we keep things on a disk: where files are, and how they are opened, locked and replaced."""
