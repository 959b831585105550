"""What mail and mailboxes need of group chats: which texts belong to a conversation, and quoting a part of it."""
