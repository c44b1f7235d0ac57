"""The chosen texts of batches as a table."""
