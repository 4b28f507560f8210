"""Claims, their sources and verdicts: one claim set, read by every protocol."""
