cimport cython
from pessimal.lp.simplex cimport Simplex

cdef double INF, REDUCED_COST


cdef class Complementarities:
    cdef readonly Py_ssize_t n_pairs
    cdef readonly Py_ssize_t[::1] row
    cdef readonly double[::1] breakpoint
    cdef readonly Py_ssize_t[:, ::1] dual_row, dual_side
    cdef readonly double[:, ::1] dual_value

    cdef Py_ssize_t add(self, Py_ssize_t row, double at) noexcept
    cdef void imply(self, Py_ssize_t pair, Py_ssize_t side, Py_ssize_t dual_row, Py_ssize_t dual_side, double value) noexcept
    cdef void bound_primal(self, Simplex primal, Py_ssize_t pair, Py_ssize_t side) noexcept
    cdef void bound_dual(self, Simplex dual, Py_ssize_t pair, Py_ssize_t side) noexcept
    cdef bint implied(self, Simplex dual, Py_ssize_t pair, Py_ssize_t side) noexcept
    cdef bint satisfied(self, double[::1] values, Py_ssize_t pair, Py_ssize_t side) noexcept
    cdef Py_ssize_t undecided(self, Simplex primal, Py_ssize_t k) noexcept


cdef void _restrict(Simplex program, Py_ssize_t k, Py_ssize_t side, double value) noexcept
@cython.locals(
    p=Py_ssize_t, n_flips=Py_ssize_t, n_points=Py_ssize_t, n_columns=Py_ssize_t,
    n_slacks=Py_ssize_t, reduced_cost_row=Py_ssize_t, column=Py_ssize_t, pair=Py_ssize_t,
    below=Py_ssize_t, above=Py_ssize_t, first_val=Py_ssize_t, k=Py_ssize_t,
    pairs=Complementarities, flips=cython.Py_ssize_t[::1],
    A=cython.double[:, ::1], low=cython.double[::1], high=cython.double[::1],
    left=cython.double[::1], right=cython.double[::1], costs="const double[::1]",
    rows=cython.Py_ssize_t[::1], signs=cython.Py_ssize_t[::1], weights=cython.double[::1],
    lower="const double[::1]", X="const double[:, ::1]", y="const double[::1]",
    weight="const double[::1]",
)
cdef _conditions(problem, flipped, Py_ssize_t n_train, bint weighted=*, double multiplier_cap=*, Py_ssize_t n_local=*, double b_limit=*)
cdef void _write_multiplier(
    double[:, ::1] A, Py_ssize_t row, Py_ssize_t column, const double[:, ::1] X, Py_ssize_t i,
    double label,
) noexcept
@cython.locals(
    p=Py_ssize_t, n_train=Py_ssize_t, n_val=Py_ssize_t, k=Py_ssize_t,
    A=cython.double[:, ::1], low=cython.double[::1], high=cython.double[::1],
    slope_left=cython.double[::1], kink=cython.double[::1],
    X="const double[:, ::1]", y="const double[::1]", weight="const double[::1]",
    upper="const double[::1]",
)
cdef _primal(problem, Py_ssize_t n_local, double b_limit)
cdef void _write_margin(
    double[:, ::1] A, Py_ssize_t row, const double[:, ::1] X, Py_ssize_t i, double label
) noexcept
@cython.locals(upper="const double[::1]", X="const double[:, ::1]", largest=double)
cpdef double intercept_limit(problem)
@cython.locals(total=double)
cdef double _reach(const double[:, ::1] X, Py_ssize_t i, const double[::1] upper) noexcept
