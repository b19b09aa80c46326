cimport cython
from pessimal.worst.models cimport Models

cdef int OPTIMAL, INFEASIBLE, CUT_OFF, STALLED
cdef double INF, CUTOFF, PROMISING, ENOUGH_SHRUNK
cdef Py_ssize_t MOST_SHRINKS


cdef class HingeTree:
    cdef readonly Models models
    cdef readonly double best, enough, unresolved_bound, widest, promising
    cdef readonly Py_ssize_t nodes, depth, shrinks, point
    cdef bint waiting
    cdef const double[::1] weight
    cdef double[::1] u, cost, low, high, bound
    cdef Py_ssize_t[::1] split, below_first, begun

    cpdef void start(self, double enough)
    @cython.locals(before=double)
    cpdef bint narrow(self)
    cpdef void hold(self, const double[::1] low, const double[::1] high)
    cpdef bint advance(self, Py_ssize_t n_nodes)
    cpdef double upper_bound(self)
    @cython.locals(at=double)
    cdef void aim(self)
    @cython.locals(loss=double)
    cdef double loss_of_lows(self)
    @cython.locals(loss=double)
    cdef bint find_range(self, Py_ssize_t k)
    cdef void keep_ranges(self)
    @cython.locals(loss=double)
    cdef double look(self)
    @cython.locals(loss=double, grown=double)
    cdef void ascend(self)
    @cython.locals(parent=double, bound=double)
    cdef void examine(self)
    cdef void charge_chords(self)
    @cython.locals(found=Py_ssize_t, largest=double, gap=double, chord=double)
    cdef Py_ssize_t loosest(self)
    cdef bint next_child(self)
