"""One release from its inputs to decision records and reports: stages as data, one sequence, two ways to run it."""
