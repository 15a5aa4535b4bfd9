"""Order of the steps, and nothing else; and the command line."""

import os

# Other packages' plugins of Pydantic would see every request and record; and looking for some takes 70 ms a process.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
