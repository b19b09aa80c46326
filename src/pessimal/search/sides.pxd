from pessimal.search.simplex cimport Simplex

cdef Py_ssize_t ABOVE
cdef double NO_PULL


cdef class Sides:
    cdef readonly Py_ssize_t n_items
    cdef Py_ssize_t[::1] row
    cdef double[::1] breakpoint
    cdef Py_ssize_t[:, ::1] dual_row, sense
    cdef double[:, ::1] value

    cdef void hold(self, Simplex primal, Py_ssize_t item, Py_ssize_t side)
    cdef void impose(self, Simplex dual, Py_ssize_t item, Py_ssize_t side)
    cdef bint imposed(self, Simplex dual, Py_ssize_t item, Py_ssize_t side)
    cdef bint satisfied(self, double[::1] values, Py_ssize_t item, Py_ssize_t side)
    cdef Py_ssize_t undecided(self, Simplex primal, Py_ssize_t k)
