"""The queue around :mod:`selection`: producers enqueue batches, RQ workers select them.

>>> import worker
>>> worker.enqueue("/data/river_plate_extracted.json")  # doctest: +SKIP
Job('selection-3f0c...', enqueued_at=...)
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing it from typing takes some milliseconds
if TYPE_CHECKING:
    from worker.producer import enqueue
    from worker.runtime.rq_worker import SelectionWorker
    from worker.settings import Settings, SettingsError

__all__ = ["SelectionWorker", "Settings", "SettingsError", "enqueue"]

if not TYPE_CHECKING:
    # Imported when first used (PEP 562): a command installs its signal handlers before.
    _MODULES = {
        "SelectionWorker": "runtime.rq_worker",
        "Settings": "settings",
        "SettingsError": "settings",
        "enqueue": "producer",
    }

    def __getattr__(name):
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)

    def __dir__():
        return sorted({*globals(), *__all__})
