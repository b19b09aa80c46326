cdef double WORK_BETWEEN_LOOKS


cdef class Watch:
    cdef object time_is_up
    cdef double work
    cdef readonly bint over
    cdef readonly object error

    cdef bint stops(self, double work) noexcept
    cpdef void begin(self, object time_is_up) noexcept
    cpdef void dismiss(self) noexcept
