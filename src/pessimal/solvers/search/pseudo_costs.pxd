cdef Py_ssize_t RELIABLE


cdef class PseudoCosts:
    cdef Py_ssize_t[:, ::1] count
    cdef double[:, ::1] growth, distance

    cdef void record(self, Py_ssize_t pair, Py_ssize_t side, double distance, double growth) noexcept
    cdef bint reliable(self, Py_ssize_t pair, Py_ssize_t side) noexcept
    cdef double estimate(self, Py_ssize_t pair, Py_ssize_t side, double distance) noexcept
    cdef object sums(self)
    cdef void begin_from(self, const double[:, :, ::1] sums) noexcept
