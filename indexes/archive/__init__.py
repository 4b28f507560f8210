"""Archive of fetched or imported pages as WARC records: writing, reading, indexing and WACZ packages."""
