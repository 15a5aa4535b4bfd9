"""Decision record to figures to HTML to PDF. Renders what is recorded and computes nothing."""
