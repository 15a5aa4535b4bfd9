"""Counting the records of each distinct tuple: in memory, by DuckDB over Parquet, or on several machines by Dask."""
