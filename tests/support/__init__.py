"""What several tests share: references, batches, a queue server, a browser, waits."""
