"""The command ``selection``: arguments, messages, tables and exit codes."""
