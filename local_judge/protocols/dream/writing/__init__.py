"""Writing quality: ten sub-dimensions in three dimensions."""
