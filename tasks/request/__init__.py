"""The release request, its policy and recipients."""
