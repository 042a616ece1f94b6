"""Other servers, to which a registry sends on names that it does not have."""
