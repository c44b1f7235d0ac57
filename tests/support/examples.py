"""How many examples Hypothesis draws; `make check` draws a quarter of them."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

_ALL = 100


def register_profiles() -> None:
    """Register the profiles ``all``, which is the default, and ``check``."""
    for name, number in (("all", _ALL), ("check", _ALL // 4)):
        settings.register_profile(
            name,
            max_examples=number,
            # A deadline would make the result depend on the speed of the machine.
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        )
    settings.load_profile("all")


def examples(number: int) -> settings:
    """Return settings for this number of examples in all tests, and fewer in ``make check``."""
    return settings(max_examples=number * settings().max_examples // _ALL)
