"""Where it is kept: one room per engine, each implementing the protocol that `perdure.registry` declares."""
