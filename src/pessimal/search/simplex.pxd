cimport cython

cdef int OPTIMAL
cdef int INFEASIBLE
cdef int CUT_OFF
cdef int STALLED
cdef double INF, PIVOT

cdef double HARRIS, PERTURBATION, GOLDEN
cdef double LP_FEASIBILITY
cdef Py_ssize_t REFACTOR_AFTER


cdef class Dictionary:
    cdef readonly Py_ssize_t m, q, size, n_local
    cdef double[:, ::1] A
    cdef double[::1] slope_left, slope_right, kink
    cdef double[:, ::1] D
    cdef Py_ssize_t[::1] basic, nonbasic, position, segment, wanted
    cdef double[::1] z, y, low, high
    cdef public double objective
    cdef readonly Py_ssize_t row, direction, pivots
    cdef Py_ssize_t age

    cpdef void copy_from(self, Dictionary other)
    cpdef void set_bounds(self, Py_ssize_t k, double low, double high)
    @cython.locals(column=Py_ssize_t, largest=double)
    cpdef void refactor(self)
    cpdef int solve(self, double cutoff)
    cdef int iterate(self, double cutoff, Py_ssize_t n_steps, bint bland)
    cdef void perturb(self, double size)
    @cython.locals(step=double, ratio=double)
    cpdef double bound_after(self, Py_ssize_t k, double low, double high)
    cdef double left_slope(self, Py_ssize_t k)
    cdef double right_slope(self, Py_ssize_t k)
    cdef double best_corner(self, Py_ssize_t k)
    cdef double corner_value(self, Py_ssize_t k, double at)
    cdef double dual_objective(self)
    cdef bint settled(self, Py_ssize_t k)
    cdef void settle(self, Py_ssize_t j)
    cdef void reset(self)
    cdef void reprice(self, bint stay)
    cdef void exchange(self, Py_ssize_t row, Py_ssize_t column)
    @cython.locals(limit=double, step=double, largest=double, ratio=double)
    cdef double entering(self, Py_ssize_t row, int direction, bint bland)
    cdef void pivot(self, Py_ssize_t row, Py_ssize_t column, double target, int direction, double step)
