"""Order of all that happens: from the workspace, its people and releases up to the gate, actions, pages, commands."""

import os

# Other packages' plugins of Pydantic would see every request and record; and looking for some takes 70 ms a process.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
