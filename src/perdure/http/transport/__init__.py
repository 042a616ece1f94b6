"""The server processes and the HTTP protocol of a connection, below the application."""
