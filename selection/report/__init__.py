"""The report: statistics of articles and of a batch, and the HTML page about them."""
