"""The queue around :mod:`selection`: producers enqueue batches, RQ workers select them.

>>> import worker
>>> worker.enqueue("/data/river_plate_extracted.json")  # doctest: +SKIP
Job('selection-3f0c...', enqueued_at=...)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from worker.producer import enqueue
    from worker.safe_worker import SelectionWorker
    from worker.settings import Settings, SettingsError

__all__ = ["SelectionWorker", "Settings", "SettingsError", "enqueue"]

# Imported when they are first used: a health check needs neither RQ nor the client library.
_MODULES = {
    "SelectionWorker": "worker.safe_worker",
    "Settings": "worker.settings",
    "SettingsError": "worker.settings",
    "enqueue": "worker.producer",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
