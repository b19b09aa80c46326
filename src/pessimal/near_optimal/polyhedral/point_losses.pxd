cimport cython
from pessimal.near_optimal.polyhedral.models cimport Models

cdef double CUTOFF, LP_FEASIBILITY


cdef class PointLosses:
    cdef readonly Models models
    cdef readonly double threshold, constant
    cdef readonly bint counts
    cdef const double[::1] weight

    cdef double of_point(self, Py_ssize_t k, double margin)
    @cython.locals(total=double)
    cdef double total(self, const double[::1] margins)
    @cython.locals(at=double, low=double, high=double, weight=double, fall=double, slope=double)
    cdef void set_envelope_costs(self)
    @cython.locals(at=double, slope=double)
    cdef double chords(self, Models models)
    cdef void cut_off(self, double loss)
    @cython.locals(total=double)
    cdef double excess(self)
    @cython.locals(low=double, high=double)
    cdef double excess_of_point(self, Py_ssize_t k)
    @cython.locals(found=Py_ssize_t, largest=double, gap=double, margin=double, beyond=double, envelope=double)
    cdef Py_ssize_t loosest(self)
