"""The compiled extensions, which pyproject.toml has no stable table for; all else is there."""

from setuptools import Extension, setup

# Without a C compiler the package installs all the same, and Python does the work.
setup(
    ext_modules=[
        Extension(f"selection.{name}", [f"selection/{name.replace('.', '/')}.c"], optional=True)
        for name in ("stream._boundaries", "text._native")
    ]
)
