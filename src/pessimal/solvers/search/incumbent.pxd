from pessimal.solvers.search.budget cimport BudgetCondition
from pessimal.solvers.search.sides cimport Sides
from pessimal.lp.simplex cimport Simplex

cdef int OPTIMAL
cdef Py_ssize_t ROUNDS
cdef double CUTOFF, NO_PULL


cdef class Incumbent:
    cdef Simplex root, piece
    cdef Sides sides
    cdef BudgetCondition budget
    cdef Py_ssize_t n_features, pull_row
    cdef const double[::1] lower, upper
    cdef double[::1] box, u, u_box
    cdef Py_ssize_t[::1] pulled
    cdef public double best
    cdef readonly bint found

    cdef void widest_box(self, Simplex primal, double[::1] values) noexcept
    cdef bint try_multipliers(self, double[::1] values) noexcept
    cdef void accept(self, Simplex primal) noexcept
    cdef void take(self, double[::1] z, double[::1] box, double objective) noexcept
