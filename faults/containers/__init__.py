"""The fleet of docker-compose.yml on a real container engine: ``python -m faults.containers``."""
