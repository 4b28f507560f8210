"""The part of scipy that is used here."""
