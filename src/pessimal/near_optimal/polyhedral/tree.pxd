cimport cython
from pessimal.near_optimal.polyhedral.ascent cimport Ascent
from pessimal.near_optimal.polyhedral.models cimport Models
from pessimal.near_optimal.polyhedral.point_losses cimport PointLosses
from pessimal.near_optimal.polyhedral.root_ranges cimport RootRanges

cdef int OPTIMAL, INFEASIBLE, CUT_OFF, STALLED
cdef double INF, CUTOFF, LP_FEASIBILITY, PROMISING, ENOUGH_SHRUNK, REACHED
cdef Py_ssize_t PLAIN_NODES, MOST_FRAMES, FEW_ROUNDS, ENDS_PER_CUT


cdef class LossTree:
    cdef readonly Models models
    cdef readonly PointLosses losses
    cdef readonly Ascent ascent
    cdef readonly RootRanges ranges
    cdef readonly double step, least_gain, enough, closed_bound, excess
    cdef readonly bint tightens
    cdef readonly Py_ssize_t nodes, depth
    cdef public Py_ssize_t plain_nodes
    cdef bint waiting, again
    cdef double[::1] bound, split_low, split_high, least, most, excess_left
    cdef double[:, ::1] level_low, level_high
    cdef Py_ssize_t[::1] split, below_first, begun

    cpdef void start(self, double enough)
    cpdef bint narrow(self)
    cdef void give_up_larger_losses(self)
    cpdef bint advance(self, Py_ssize_t n_nodes)
    cdef void start_again(self)
    @cython.locals(parent=double, bound=double, loss=double, excess=double)
    cdef bint examine(self)
    @cython.locals(sign=double, low=double, high=double, end=double, slack=double, left=bint, rounds=Py_ssize_t, since_cut=Py_ssize_t, k=Py_ssize_t)
    cdef bint tighten(self)
    @cython.locals(low=double)
    cdef bint next_child(self)
    cpdef double upper_bound(self)
