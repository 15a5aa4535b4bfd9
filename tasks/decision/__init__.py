"""Gates to verdict, and the record that every report renders."""
