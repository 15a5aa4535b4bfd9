"""The stages of the gate: one folder a stage, pure method modules, and one door (``task.py``) that knows Prefect."""
