"""The write path of the results database: batches, retries, and a separate process that commits them."""
