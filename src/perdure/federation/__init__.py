"""Resolution across servers: signed statements between peers, and the choice between their answers."""
