"""`local-judge judge`: presets, servers and qualification of judges."""
