"""Everything that stages import, imported once in the process that workers are forked from."""

import gc
from importlib import import_module

_MODULES = (
    "flows.pipeline.work",
    "great_expectations",
    "tasks.validation.run",
    "tasks.delivery.write",
    "reports.determination",
    "reports.certificate",
)

gc.disable()
for _name in _MODULES:
    import_module(_name)
gc.freeze()  # workers share these objects' memory as long as nobody counts them again
gc.enable()
