"""Settings of the gate as a service; nothing here is about one release."""
