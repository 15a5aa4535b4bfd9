"""The gate as a service: requests are queued, run, followed through their reviews and announced, all unattended."""
