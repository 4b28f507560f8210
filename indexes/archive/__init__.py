"""What was fetched or imported, as WARC records: written, read, indexed, packed as WACZ."""
