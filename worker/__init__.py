"""The queue around :mod:`selection`: producers enqueue batches, RQ workers select them.

>>> import worker
>>> worker.enqueue("/data/river_plate_extracted.json")  # doctest: +SKIP
Job('selection-3f0c...', enqueued_at=...)
"""

from worker.producer import enqueue
from worker.safe_worker import SelectionWorker
from worker.settings import Settings, SettingsError

__all__ = ["SelectionWorker", "Settings", "SettingsError", "enqueue"]
