"""What the product is thrown at, counted: ``python -m faults``.

The makers of batches, the plain rules and the real server and workers are the tests' own.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
