cimport cython
from pessimal.solvers.search.budget cimport BudgetCondition
from pessimal.solvers.search.conflict cimport ConflictFinder
from pessimal.solvers.search.incumbent cimport Incumbent
from pessimal.solvers.search.node cimport Node
from pessimal.solvers.search.sides cimport Sides
from pessimal.lp.simplex cimport Simplex
from pessimal.lp.watch cimport Watch

cdef int INFEASIBLE, CUT_OFF, STALLED
cdef Py_ssize_t BELOW, ABOVE, PULL, NO_CONFLICT, UNKNOWN, FLIP_STEPS, STACK_BYTES
cdef double INF, AT_BREAKPOINT, CUTOFF, NO_PULL


cdef class Tree:
    cdef readonly Py_ssize_t nodes, depth, unresolved
    cdef readonly double unresolved_bound
    cdef readonly Incumbent incumbent
    cdef readonly BudgetCondition budget
    cdef object conditions
    cdef Sides sides
    cdef Py_ssize_t n_features, pull_row
    cdef list levels
    cdef ConflictFinder conflicts
    cdef Simplex root, trial_primal, trial_dual
    cdef readonly Watch watch
    cdef Py_ssize_t max_depth

    cpdef bint advance(self, Py_ssize_t n_nodes)
    cpdef double open_bound(self)
    cdef Node level(self, Py_ssize_t depth)
    cdef bint descend(self)
    @cython.locals(size=Py_ssize_t)
    cdef void examine(self, Node node) noexcept
    cdef void leave_open(self, double bound) noexcept
    @cython.locals(side=Py_ssize_t)
    cdef void collect(self, Node node) noexcept
    cdef double bound_flipped(self, Node node, Py_ssize_t item, Py_ssize_t side) noexcept
    cdef bint branch_on_budget(self, Node node) noexcept
    cdef void mark_pulled(self, Node node) noexcept
    @cython.locals(item=Py_ssize_t, above=bint)
    cdef void split_loosest(self, Node node, Py_ssize_t cut) noexcept
