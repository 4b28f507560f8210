"""`local-judge tasks`: research tasks, requirements for their reports, and topics."""
