"""Engines: what can be asked. One module per engine, imported only when it is used."""
