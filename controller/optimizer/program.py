"""Linear programs, and OR-Tools to solve them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from ortools.linear_solver import linear_solver_pb2, pywraplp

from controller.optimizer.problem import Floats


@dataclass(slots=True)
class Rows:
    """Linear constraints ``low <= row . x <= high`` as they are gathered."""

    columns: list[list[int]]
    values: list[list[float]]
    low: list[float]
    high: list[float]

    def add(self, columns: list[int], values: list[float], low: float, high: float) -> None:
        self.columns.append(columns)
        self.values.append(values)
        self.low.append(low)
        self.high.append(high)


def minimise(
    name: str, limit_s: float, cost: Floats, rows: Rows
) -> tuple[Floats, Floats, float] | None:
    """Minimise ``cost . x`` for x >= 0. Values, duals and seconds, or None if not solved."""
    model = linear_solver_pb2.MPModelProto()
    for c in cost.tolist():
        model.variable.add(lower_bound=0.0, objective_coefficient=c)
    for columns, values, low, high in zip(
        rows.columns, rows.values, rows.low, rows.high, strict=True
    ):
        model.constraint.add(
            var_index=columns, coefficient=values, lower_bound=low, upper_bound=high
        )
    solver = pywraplp.Solver.CreateSolver(name)
    solver.SetTimeLimit(int(1000 * limit_s))
    solver.LoadModelFromProto(model)
    status = solver.Solve()
    seconds = solver.wall_time() / 1000
    if status != pywraplp.Solver.OPTIMAL:
        return None
    answer = linear_solver_pb2.MPSolutionResponse()
    solver.FillSolutionResponseProto(answer)
    return np.array(answer.variable_value), np.array(answer.dual_value), seconds
