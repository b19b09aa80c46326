cimport cython
from pessimal.near_optimal.polyhedral.models cimport Models

cdef int OPTIMAL, INFEASIBLE, CUT_OFF, STALLED
cdef double INF, CUTOFF, LP_FEASIBILITY, PROMISING, ENOUGH_SHRUNK, NEARER, REACHED
cdef Py_ssize_t MOST_SHRINKS, TIMES_NEARER, PLAIN_NODES, MOST_FRAMES, FEW_ROUNDS, ENDS_PER_CUT


cdef class LossTree:
    cdef readonly Models models, forms
    cdef readonly double best, enough, closed_bound, widest, root_bound, promising, constant
    cdef readonly double threshold, step, least_gain, excess
    cdef readonly bint counts, tightens
    cdef readonly Py_ssize_t nodes, depth, shrinks, point
    cdef public Py_ssize_t plain_nodes
    cdef bint waiting, again
    cdef const double[::1] weight
    cdef double[::1] u, cost, low, high, inner_margin, margin, bound, split_low, split_high, least, most, excess_left
    cdef double[:, ::1] level_low, level_high
    cdef Py_ssize_t[::1] split, below_first, begun, found

    cpdef void start(self, double enough)
    @cython.locals(before=double)
    cpdef bint narrow(self)
    cpdef void know(self, const double[::1] low, const double[::1] high, const Py_ssize_t[::1] found)
    cpdef void ascend_from(self, const double[::1] u)
    cpdef void climb(self)
    cpdef void hold(self, const double[::1] low, const double[::1] high)
    cpdef bint advance(self, Py_ssize_t n_nodes)
    cpdef double upper_bound(self)
    cdef void start_again(self)
    @cython.locals(sign=double, low=double, high=double, end=double, slack=double, left=bint, rounds=Py_ssize_t, since_cut=Py_ssize_t, k=Py_ssize_t)
    cdef bint tighten(self)
    cdef void cut_off_smaller_losses(self)
    @cython.locals(total=double)
    cdef double excess_of_envelopes(self)
    @cython.locals(low=double, high=double)
    cdef double excess_of_envelope(self, Py_ssize_t k)
    @cython.locals(at_most=double)
    cdef void exclude_smaller_losses(self)
    @cython.locals(at=double, slope=double)
    cdef double chords(self, Models models)
    @cython.locals(total=double)
    cdef double loss_of_lows(self)
    cdef double loss(self, Py_ssize_t k, double margin)
    @cython.locals(loss=double)
    cdef bint find_range(self, Py_ssize_t k)
    cdef void keep_ranges(self)
    cdef double evaluate(self, double share)
    @cython.locals(total=double)
    cdef double evaluate_end(self)
    @cython.locals(total=double)
    cdef double judge(self)
    cdef void keep(self, const double[::1] z, double share)
    @cython.locals(below=double)
    cdef void ascend(self, double grown)
    @cython.locals(reach=double)
    cpdef void sharpen(self)
    cdef void take_margins(self, const double[::1] u)
    @cython.locals(loss=double, counts_now=bint)
    cdef void climb_along(self, double grown, double below, double above)
    @cython.locals(parent=double, bound=double, loss=double, excess=double)
    cdef bint examine(self)
    @cython.locals(at=double, low=double, high=double, weight=double, fall=double, slope=double)
    cdef void set_envelope_costs(self)
    @cython.locals(found=Py_ssize_t, largest=double, gap=double, margin=double, beyond=double, envelope=double)
    cdef Py_ssize_t loosest(self)
    @cython.locals(low=double)
    cdef bint next_child(self)
