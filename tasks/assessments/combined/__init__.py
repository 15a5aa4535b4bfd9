"""Identity and attribute disclosure in one score (Orooji and Knapp 2019)."""
