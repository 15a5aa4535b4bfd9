"""People whom known true dates find among shifted or relative ones, and what the calendar tells of the shift."""
