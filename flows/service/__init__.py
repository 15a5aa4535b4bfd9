"""The gate as a service: requests are queued, run, waited for and told of, without anybody at a terminal."""
