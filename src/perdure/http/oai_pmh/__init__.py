"""The data provider of OAI-PMH 2.0, for services that harvest descriptions."""
