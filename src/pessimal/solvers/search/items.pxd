cimport cython
from pessimal.solvers.search.sides cimport Sides

cdef double INF
cdef Py_ssize_t ABOVE, BELOW, AT_MOST, AT_LEAST


@cython.locals(
    p=Py_ssize_t, n_flips=Py_ssize_t, n_points=Py_ssize_t, n_columns=Py_ssize_t,
    n_slacks=Py_ssize_t, pull_row=Py_ssize_t, column=Py_ssize_t, item=Py_ssize_t,
    below=Py_ssize_t, above=Py_ssize_t, first_val=Py_ssize_t, items=Sides,
    A=cython.double[:, ::1], low=cython.double[::1], high=cython.double[::1],
    rows=cython.Py_ssize_t[::1], signs=cython.Py_ssize_t[::1], weights=cython.double[::1],
    lower="const double[::1]", X="const double[:, ::1]", y="const double[::1]",
    weight="const double[::1]",
)
cdef _conditions(
    problem, Py_ssize_t[::1] flips, const double[::1] flip_weight, Py_ssize_t n_train,
    bint weighted, double multiplier_cap, Py_ssize_t n_local,
)
cdef void _write_pull(
    double[:, ::1] A, Py_ssize_t row, Py_ssize_t column, const double[:, ::1] X, Py_ssize_t i,
    double label,
) noexcept
cdef void _write_costs(
    Py_ssize_t n, double[::1] left, double[::1] right, const double[::1] costs
) noexcept
@cython.locals(
    p=Py_ssize_t, n_train=Py_ssize_t, n_val=Py_ssize_t, k=Py_ssize_t, b_limit=double,
    A=cython.double[:, ::1], low=cython.double[::1], high=cython.double[::1],
    slope_left=cython.double[::1], kink=cython.double[::1],
    X="const double[:, ::1]", y="const double[::1]", weight="const double[::1]",
    upper="const double[::1]",
)
cdef _primal(problem, Py_ssize_t n_local)
cdef void _write_margin(
    double[:, ::1] A, Py_ssize_t row, const double[:, ::1] X, Py_ssize_t i, double label
) noexcept
@cython.locals(upper="const double[::1]")
cpdef double intercept_limit(problem)
@cython.locals(largest=double)
cdef double _largest_reach(const double[:, ::1] X, const double[::1] upper) noexcept
@cython.locals(total=double)
cdef double _reach(const double[:, ::1] X, Py_ssize_t i, const double[::1] upper) noexcept
