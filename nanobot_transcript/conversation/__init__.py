"""What happens with a message of a group, whichever host and platform: who is here, what is recorded, who answers."""
