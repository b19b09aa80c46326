"""The candidates of a search: named in a grid, drawn from it, or all values of a range."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.model_selection import ParameterGrid, ParameterSampler

from pessimal.errors import InvalidInputError
from pessimal.model_selection.ranges import Range

Grid = Mapping[str, Any]


@dataclass(frozen=True)
class Branch:
    """A range of one parameter, with fixed values of others."""

    name: str
    values: Range
    others: dict[str, Any]

    def candidate(self, value: float) -> dict[str, Any]:
        """Return the parameters at a value."""
        return {**self.others, self.name: value}


def read_grid(
    param_grid: Grid | Sequence[Grid], n_iter: int | None, random_state: Any
) -> tuple[list[dict[str, Any]], list[Branch]]:
    """Return the candidates that are named, or drawn, and the ranges with each choice of others."""
    grids = [param_grid] if isinstance(param_grid, Mapping) else param_grid
    listed: list[dict[str, Any]] = []
    branches: list[Branch] = []
    for grid in grids:
        name, others = _range_of(grid)
        if name is None:
            listed.append(others)
        else:
            branches += [Branch(name, grid[name], fixed) for fixed in ParameterGrid(others)]
    if n_iter is not None and not branches:
        return list(ParameterSampler(param_grid, n_iter, random_state=random_state)), []
    return list(ParameterGrid(listed)) if listed else [], branches


def _range_of(grid: Grid) -> tuple[str | None, dict[str, Any]]:
    """Return the parameter of a grid that has a range, if one has, and the others."""
    names = [name for name, values in grid.items() if isinstance(values, Range)]
    if len(names) > 1:
        raise InvalidInputError(
            f"param_grid has a Range for {' and for '.join(names)}; pass one, and lists for others"
        )
    others = {name: values for name, values in grid.items() if name not in names}
    return (names[0] if names else None), others
