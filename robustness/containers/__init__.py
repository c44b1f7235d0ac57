"""Run docker-compose.yml on a real container engine: ``python -m robustness.containers``."""
