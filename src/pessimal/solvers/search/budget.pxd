cimport cython
from pessimal.lp.simplex cimport Simplex

cdef int OPTIMAL
cdef double INF, LP_FEASIBILITY, BUDGET


cdef class BudgetCondition:
    cdef readonly Py_ssize_t n_features, n_train, n_cuts
    cdef readonly double relative, absolute, slack
    cdef double[:, ::1] signed
    cdef const double[::1] weight, lower, upper
    cdef Simplex trainer
    cdef bint trained
    cdef double[:, ::1] box_cost
    cdef double[::1] rhs, chord_slope, chord_start, box_slope, box_start, coefficients
    cdef readonly Py_ssize_t last
    cdef Py_ssize_t oldest

    cpdef double least_loss(self, const double[::1] box) noexcept
    cpdef double limit(self, double[::1] box) noexcept
    cdef double train_loss(self, Simplex primal) noexcept
    cdef bint satisfied(self, Simplex primal, double[::1] box) noexcept
    cdef void add_cut(self) noexcept
    cdef void chords(self, Simplex primal, Py_ssize_t[::1] binding) noexcept
    @cython.locals(top=double, rhs=double, b_limit=double)
    cdef void write_cuts(self, Simplex primal, Py_ssize_t[::1] binding) noexcept
    @cython.locals(total=double)
    cdef bint separates(self, Py_ssize_t cut, Simplex primal, Py_ssize_t[::1] binding) noexcept
    @cython.locals(widest=double, row=Py_ssize_t)
    cdef Py_ssize_t loosest(self, Py_ssize_t cut, Simplex primal, Py_ssize_t[::1] binding, double[::1] box) noexcept
