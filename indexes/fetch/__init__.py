"""Pages of the web fetched once: politely, within bounds, and from public addresses only."""
