"""Federation over HTTP: signed statements for other servers, and readers who are sent on to them."""
