"""What happens with a message of a group, on any host and platform: who is here, what is recorded, who answers."""
