cimport cython
from pessimal.search.budget cimport BudgetCondition
from pessimal.search.simplex cimport Dictionary

cdef int OPTIMAL, INFEASIBLE, CUT_OFF, STALLED
cdef Py_ssize_t BELOW, ABOVE, PIECE_ROUNDS, FLIP_STEPS, PULL
cdef double INF, AT_BREAKPOINT, CUTOFF, NO_PULL, PIVOT


cdef class Node:
    cdef readonly Dictionary primal, dual
    cdef Py_ssize_t[::1] pulled
    cdef Py_ssize_t n_children
    cdef Py_ssize_t[::1] item, side
    cdef double[::1] bound

    cdef void copy_from(self, Node other)


cdef class Tree:
    cdef readonly Py_ssize_t nodes, depth, unresolved
    cdef public double best
    cdef readonly double unresolved_bound
    cdef readonly bint found
    cdef object conditions
    cdef BudgetCondition budget
    cdef Py_ssize_t n_items, n_features, pull_row
    cdef Py_ssize_t[::1] row
    cdef double[::1] breakpoint
    cdef Py_ssize_t[:, ::1] dual_row, sense
    cdef double[:, ::1] value
    cdef readonly list levels
    cdef readonly Node scratch
    cdef Dictionary trial_dual
    cdef double[::1] lower, upper
    cdef Py_ssize_t[::1] piece_pulled
    cdef Py_ssize_t[::1] candidate, candidate_side, order, low_by, high_by
    cdef double[::1] flip_bound, box
    cdef double[::1] best_u, best_box

    cpdef bint advance(self, Py_ssize_t n_nodes)
    cpdef double open_bound(self)
    cdef Node level(self, Py_ssize_t depth)
    cdef bint descend(self)
    @cython.locals(n=Py_ssize_t, n_conflict=Py_ssize_t)
    cdef void examine(self, Node node)
    cdef void leave_open(self, Node node)
    cdef void keep(self, Node node, Py_ssize_t item, Py_ssize_t side)
    cdef void flip(self, Node node, Py_ssize_t item, Py_ssize_t side)
    cdef void hold(self, Dictionary primal, Py_ssize_t item, Py_ssize_t side)
    cdef void impose(self, Dictionary dual, Py_ssize_t item, Py_ssize_t side)
    cdef bint imposed(self, Dictionary dual, Py_ssize_t item, Py_ssize_t side)
    cdef double bound_flipped(self, Node node, Py_ssize_t item, Py_ssize_t side, double cut)
    @cython.locals(side=Py_ssize_t, k=Py_ssize_t, n=Py_ssize_t)
    cdef Py_ssize_t collect(self, Node node, double cut)
    @cython.locals(k=Py_ssize_t)
    cdef void sort(self, Py_ssize_t n)
    @cython.locals(c=Py_ssize_t, k=Py_ssize_t, item=Py_ssize_t, side=Py_ssize_t)
    cdef Py_ssize_t conflict(self, Node node, Py_ssize_t n)
    @cython.locals(count=Py_ssize_t, by=Py_ssize_t, k=Py_ssize_t, a=double)
    cdef Py_ssize_t farkas(self, Node node)
    cdef Py_ssize_t name_conflict(self, Node node, Py_ssize_t count)
    cdef void accept(self, Dictionary primal)
    cdef void widest_box(self, Node node)
    cpdef bint try_multipliers(self, double[::1] values)
    cdef bint satisfied(self, double[::1] values, Py_ssize_t item, Py_ssize_t side)
    @cython.locals(item=Py_ssize_t)
    cdef bint branch_on_budget(self, Node node)
    cdef Py_ssize_t undecided(self, Dictionary primal, Py_ssize_t k)
    @cython.locals(side=Py_ssize_t)
    cdef void two_children(self, Node node, Py_ssize_t item)
