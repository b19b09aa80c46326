cimport cython
from pessimal.near_optimal.polyhedral.ascent cimport Ascent
from pessimal.near_optimal.polyhedral.models cimport Models
from pessimal.near_optimal.polyhedral.point_losses cimport PointLosses

cdef int OPTIMAL, INFEASIBLE
cdef double INF, ENOUGH_SHRUNK
cdef Py_ssize_t MOST_SHRINKS


cdef class RootRanges:
    cdef readonly Models forms
    cdef readonly PointLosses losses
    cdef readonly Ascent ascent
    cdef readonly double least_gain, excess, promising
    cdef readonly Py_ssize_t shrinks, point
    cdef readonly bint empty
    cdef double bound
    cdef double[::1] low, high
    cdef Py_ssize_t[::1] found

    cdef void start(self)
    cpdef void know(self, const double[::1] low, const double[::1] high, const Py_ssize_t[::1] found)
    cdef void take(self, const double[::1] low, const double[::1] high)
    cdef bint narrow(self, double enough)
    @cython.locals(before=double)
    cdef bint narrow_next(self, double enough)
    cpdef void hold(self, const double[::1] low, const double[::1] high)
    @cython.locals(loss=double)
    cdef bint find(self, Py_ssize_t k)
    cdef void keep(self)
    cdef void restore(self)
    @cython.locals(at_most=double)
    cdef void exclude_smaller_losses(self)
    cdef double upper_bound(self)
