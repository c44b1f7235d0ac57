"""Results as text for a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.result import Cell, Goal, Result, Table


def goals_table(results: Sequence[Result]) -> Table:
    """Return all goals in one table."""
    goals = [goal for result in results for goal in result.goals]
    rows = tuple((goal.what, goal.value, _wanted(goal), goal.outcome) for goal in goals)
    return Table("Goals", ("what", "measured", "goal", ""), rows)


def as_text(table: Table) -> str:
    """Return a table as text for a terminal."""
    cells = [table.head, *([cell(value) for value in row] for row in table.rows)]
    widths = [max(map(len, column)) for column in zip(*cells)]
    right = [_is_number(table, i) for i in range(len(widths))]
    lines = [
        "  ".join(
            text.rjust(width) if to_right else text.ljust(width)
            for text, width, to_right in zip(row, widths, right)
        ).rstrip()
        for row in cells
    ]
    return "\n".join([table.title, *lines])


def markdown(table: Table) -> str:
    """Return a table as Markdown."""
    rule = ["---:" if _is_number(table, i) else "---" for i in range(len(table.head))]
    rows = [table.head, rule, *([_escaped(cell(value)) for value in row] for row in table.rows)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def cell(value: Cell) -> str:
    """Return a value as text, a float with about three significant digits."""
    if value is None:
        return "not available"
    if isinstance(value, float):
        size = abs(value)
        digits = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3
        return f"{value:,.{digits}f}"
    return f"{value:,}" if isinstance(value, int) else value


def _wanted(goal: Goal) -> str:
    return f"at {'most' if goal.at_most else 'least'} {goal.goal:g}"


def _is_number(table: Table, column: int) -> bool:
    return not any(isinstance(row[column], str) for row in table.rows)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("[", "\\[")
