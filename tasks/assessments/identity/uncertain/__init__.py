"""The verdict on a release whose stakes and adversary are known only as intervals or distributions."""
