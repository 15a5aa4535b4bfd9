"""The work of the gate, by room; no Prefect: ``flows`` sets the order."""
