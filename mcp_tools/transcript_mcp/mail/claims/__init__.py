"""Files that agents have claimed, and the guard in their repositories."""
