"""The sections of a determination: each turns facts of the record into blocks of the document model."""
