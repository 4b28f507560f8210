"""Domain authority: how far the domains that a report cites can be relied on."""
