"""How we keep things on a disk: where they lie, how they are opened, locked and replaced."""
