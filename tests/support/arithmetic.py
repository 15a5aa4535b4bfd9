"""The same arithmetic on every machine: without it, last digits, and hashes with them, follow the processor.

Import it before NumPy is imported.
"""

import os

os.environ["OPENBLAS_CORETYPE"] = "Haswell"
os.environ["NPY_DISABLE_CPU_FEATURES"] = "X86_V4 AVX512_ICL AVX512_SPR"
# As in the processes that a release starts: a worker a processor is enough, and one that is forked has one thread.
os.environ["JE_ARROW_MALLOC_CONF"] = "background_thread:false"
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
