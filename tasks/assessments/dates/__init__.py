"""People found by known true dates among shifted or relative ones, and the calendar's information on the shift."""
