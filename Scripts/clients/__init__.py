"""Real clients, and the requests of clients that cannot run here."""
