"""Linear programs as sparse arrays, and OR-Tools to solve them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from ortools.linear_solver.python import model_builder_helper
from scipy import sparse

from controller.optimizer import stopwatch
from controller.optimizer.problem import Floats

# Its stubs are wrong about arrays.
ortools: Any = model_builder_helper


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """Minimise ``cost . x`` for x >= 0 and ``low <= matrix x <= high``."""

    cost: Floats
    matrix: Any
    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Optimum:
    """Values, the rows' duals, and seconds in the solver."""

    x: Floats
    dual: Floats
    seconds: float


def pdlp_parameters(tolerance: float) -> str:
    """Two threads, and a tolerance for residuals and objective that is no proof of a gap."""
    return (
        "num_threads: 2 termination_criteria { simple_optimality_criteria { "
        f"eps_optimal_absolute: {tolerance} eps_optimal_relative: {tolerance} }} }}"
    )


def solve(solver: str, limit_s: float, program: Program, parameters: str = "") -> Optimum | None:
    """By ``GLOP`` or ``PDLP``, with parameters in their own words; None if not solved in time."""
    model = ortools.ModelBuilderHelper()
    model.fill_model_from_sparse_data(
        np.zeros(len(program.cost)),
        np.full(len(program.cost), np.inf),
        program.cost,
        program.low,
        program.high,
        sparse.csr_matrix(program.matrix),
    )
    helper = ortools.ModelSolverHelper(solver.lower())
    helper.set_time_limit_in_seconds(limit_s)
    if parameters:
        helper.set_solver_specific_parameters(parameters)
    began = stopwatch.now()
    helper.solve(model)
    seconds = stopwatch.now() - began
    if helper.status() != ortools.SolveStatus.OPTIMAL:
        return None
    return Optimum(np.array(helper.variable_values()), np.array(helper.dual_values()), seconds)
