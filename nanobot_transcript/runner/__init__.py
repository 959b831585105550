"""Our own host: any mind in a group chat, with the shared record, the gate, the guard and the claim."""
