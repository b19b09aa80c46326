cimport cython
from pessimal.near_optimal.polyhedral.models cimport Models
from pessimal.near_optimal.polyhedral.point_losses cimport PointLosses

cdef int OPTIMAL
cdef double INF, CUTOFF, NEARER
cdef Py_ssize_t TIMES_NEARER


cdef class Ascent:
    cdef readonly Models models
    cdef readonly PointLosses losses
    cdef readonly double best
    cdef double[::1] u, cost, inner_margin, margin

    cdef void start(self)
    cpdef void ascend_from(self, const double[::1] u)
    cpdef void climb(self)
    @cython.locals(below=double)
    cdef void ascend(self, double grown)
    @cython.locals(reach=double)
    cpdef void sharpen(self)
    @cython.locals(loss=double, counts_now=bint)
    cdef void climb_along(self, double grown, double below, double above)
    @cython.locals(loss=double)
    cdef double evaluate(self, double share)
    @cython.locals(total=double, loss=double)
    cdef double evaluate_end(self, Models forms)
    cdef void take_margins(self, const double[::1] u)
    @cython.locals(total=double)
    cdef double judge(self)
    cdef void keep(self, const double[::1] z, double share)
