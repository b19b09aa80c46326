cimport cython
from pessimal.near_optimal.polyhedral.models cimport Models


cdef class TracedModels(Models):
    cdef unsigned char[:, ::1] counts

    @cython.locals(change=double)
    cdef void trace(self, Py_ssize_t c, double last)
    cpdef void confine(self, const double[:, ::1] rows, const double[::1] reach, const double[::1] at_most)
    @cython.locals(share=double)
    cpdef void write_multipliers(self, double[::1] of_hinges, double[::1] of_rows)
    cpdef void blame(self)
