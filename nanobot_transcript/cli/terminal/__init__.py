"""What the commands share: options, output, tables, languages, and how people name chats, messages and times."""
