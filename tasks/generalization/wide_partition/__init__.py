"""The partition of a population into released cells where the count cube does not reach.

With eight attributes and more the lattice has tens of thousands to millions of strategies, and cells beyond counting.
Here only cells that some people have are made, from the whole population down (``graph``), by greedy splits widened as
memory allows, improved part by part (``improve``), compared with full-domain k-anonymity (``common``), and bounded
from above (``bound``, ``prices``). Levels of a hierarchy may cross (``axes``, ``meets``). ``cover`` goes beyond
recursive splits: all partitions into hierarchical cells, by column generation.
"""

from tasks.generalization.wide_partition.solve import WidePartition, wide_partition

__all__ = ["WidePartition", "wide_partition"]
