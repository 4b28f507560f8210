"""Search over all chunks of a frozen web: BM25, dense vectors, and both fused.

Indexes are built from a stream of chunks and lie in folders of their own; they know rows, not pages. Whoever
owns the chunks turns rows into passages, and filters into masks over rows.
"""
