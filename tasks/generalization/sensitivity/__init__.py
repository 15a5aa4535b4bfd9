"""What the game's outcome would be under other stakes, over whole maps of them at once."""
