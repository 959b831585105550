"""Questions and reports: what becomes of them, where they are kept, and what people write on their own."""
