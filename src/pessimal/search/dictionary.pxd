cimport cython

cdef double INF, PIVOT, LP_FEASIBILITY


cdef class Dictionary:
    cdef readonly Py_ssize_t m, q, size, n_local, pivots
    cdef public double objective
    cdef double[:, ::1] A
    cdef double[::1] slope_left, slope_right, kink
    cdef double[:, ::1] D
    cdef Py_ssize_t[::1] basic, nonbasic, position, segment, wanted
    cdef double[::1] z, y, low, high
    cdef Py_ssize_t age

    cdef void reset(self)
    cdef void reprice(self, bint stay)
    @cython.locals(column=Py_ssize_t, largest=double)
    cpdef void refactor(self)
    cpdef void copy_from(self, Dictionary other)
    cpdef void set_bounds(self, Py_ssize_t k, double low, double high)
    cdef bint settled(self, Py_ssize_t k)
    cdef void settle(self, Py_ssize_t j)
    cdef double left_slope(self, Py_ssize_t k)
    cdef double right_slope(self, Py_ssize_t k)
    cdef double corner_value(self, Py_ssize_t k, double at)
    cdef double best_corner(self, Py_ssize_t k)
    cdef double dual_objective(self)
    cdef void exchange(self, Py_ssize_t row, Py_ssize_t column)
