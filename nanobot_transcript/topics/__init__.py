"""What mail and mailboxes need of the talk of groups: which texts belong to it, and a piece of it as a quote."""
