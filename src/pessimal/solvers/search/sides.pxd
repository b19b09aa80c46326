from pessimal.lp.simplex cimport Simplex

cdef Py_ssize_t ABOVE
cdef double NO_PULL


cdef class Sides:
    cdef readonly Py_ssize_t n_items
    cdef readonly Py_ssize_t[::1] row
    cdef readonly double[::1] breakpoint
    cdef readonly Py_ssize_t[:, ::1] dual_row, sense
    cdef readonly double[:, ::1] value

    cdef Py_ssize_t add(self, Py_ssize_t row, double at) noexcept
    cdef void imply(self, Py_ssize_t item, Py_ssize_t side, Py_ssize_t dual_row, Py_ssize_t sense, double value) noexcept
    cdef void hold(self, Simplex primal, Py_ssize_t item, Py_ssize_t side) noexcept
    cdef void impose(self, Simplex dual, Py_ssize_t item, Py_ssize_t side) noexcept
    cdef bint imposed(self, Simplex dual, Py_ssize_t item, Py_ssize_t side) noexcept
    cdef bint satisfied(self, double[::1] values, Py_ssize_t item, Py_ssize_t side) noexcept
    cdef Py_ssize_t undecided(self, Simplex primal, Py_ssize_t k) noexcept
