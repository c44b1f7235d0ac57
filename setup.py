"""The compiled backend, which pyproject.toml cannot name for good yet; all else is there."""

from setuptools import Extension, setup

# Without a C compiler the package installs all the same, and Python does the work.
setup(ext_modules=[Extension("selection._native", ["selection/_native.c"], optional=True)])
