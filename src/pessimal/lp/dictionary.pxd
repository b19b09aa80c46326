cimport cython
from pessimal.lp.watch cimport Watch

cdef double INF, PIVOT, LP_FEASIBILITY


cdef class Dictionary:
    cdef readonly Py_ssize_t m, q, size, n_local, pivots
    cdef public double objective
    cdef double[:, ::1] A
    cdef double[::1] slope_left, slope_right, kink
    cdef double[:, ::1] D
    cdef Py_ssize_t[::1] basic, nonbasic, position, segment, wanted
    cdef double[::1] z, y, low, high, leaving_column
    cdef Py_ssize_t age
    cdef Watch watch

    cdef void place(self, double[:, ::1] reals, Py_ssize_t[:, ::1] wholes) noexcept
    cdef void start(self, const double[::1] low, const double[::1] high) noexcept
    cdef void reset(self) noexcept
    @cython.locals(total=double)
    cdef void reprice(self, bint stay) noexcept
    @cython.locals(column=Py_ssize_t, largest=double)
    cpdef void refactor(self) noexcept
    cpdef void copy_from(self, Dictionary other) noexcept
    cpdef void set_bounds(self, Py_ssize_t k, double low, double high) noexcept
    cdef bint settled(self, Py_ssize_t k) noexcept
    cdef void settle(self, Py_ssize_t j) noexcept
    cdef double left_slope(self, Py_ssize_t k) noexcept
    cdef double right_slope(self, Py_ssize_t k) noexcept
    cdef double corner_value(self, Py_ssize_t k, double at) noexcept
    cdef double best_corner(self, Py_ssize_t k) noexcept
    @cython.locals(total=double, y=double, left=double, right=double, at=double, low=double, high=double, least=double)
    cdef double dual_objective(self) noexcept
    @cython.locals(inverse=double, share=double, D="double[:, ::1]", factor="double[::1]")
    cdef void exchange(self, Py_ssize_t row, Py_ssize_t column) noexcept
