cimport cython
from pessimal.lp.simplex cimport Simplex
from pessimal.lp.watch cimport Watch
from pessimal.solvers.search.budget cimport BudgetCondition
from pessimal.solvers.search.complementarities cimport Complementarities
from pessimal.solvers.search.conflicts cimport ConflictFinder
from pessimal.solvers.search.heuristic cimport Incumbent
from pessimal.solvers.search.node cimport Node, OpenNodes
from pessimal.solvers.search.strong_branching cimport StrongBranching

cdef int INFEASIBLE, CUT_OFF, STALLED
cdef Py_ssize_t BELOW, ABOVE, NO_CONFLICT, UNKNOWN, NO_MULTIPLIERS, FIXED_BETWEEN_CHECKS
cdef double INF, AT_BREAKPOINT, NARROWEST, CUTOFF, REDUCED_COST


cdef class Tree:
    cdef readonly Py_ssize_t nodes, unresolved
    cdef readonly bint finished
    cdef readonly double unresolved_bound
    cdef readonly Incumbent incumbent
    cdef bint begun, narrowed
    cdef Py_ssize_t multiplier_column
    cdef double multiplier_cap
    cdef BudgetCondition budget
    cdef object conditions
    cdef Complementarities pairs
    cdef Py_ssize_t n_features
    cdef OpenNodes open
    cdef Node node
    cdef ConflictFinder conflicts
    cdef StrongBranching strong
    cdef Simplex root, trial_dual
    cdef Watch watch

    @cython.locals(root=Node)
    cpdef bint advance(self, Py_ssize_t n_nodes)
    cdef void begin(self)
    @cython.locals(bound=double, node=Node, first=Node)
    cpdef void begin_from(self, list nodes, object costs)
    cpdef list open_nodes(self)
    cpdef object pseudo_costs(self)
    cpdef void cap_multiplier(self, double cap)
    cpdef double open_bound(self)
    @cython.locals(cutoff=double, bound=double, parent=Node, child=Node)
    cdef bint descend(self)
    @cython.locals(size=Py_ssize_t)
    cdef void examine(self, Node node) noexcept
    cdef void leave_open(self, double bound) noexcept
    @cython.locals(side=Py_ssize_t, fixed=bint, off=double)
    cdef bint fix_by_one_step(self, Node node) noexcept
    @cython.locals(primal=Simplex, side=Py_ssize_t, estimated=bint, n_fixed=Py_ssize_t)
    cdef bint strong_branch(self, Node node) noexcept
    @cython.locals(status=int)
    cdef Py_ssize_t find_conflict(self, Node node) noexcept
    cdef bint branch_on_budget(self, Node node) noexcept
    @cython.locals(primal=Simplex, gap=double, low=double, high=double)
    cdef void narrow(self, Node node) noexcept
    cdef void mark_binding(self, Node node) noexcept
    @cython.locals(k=Py_ssize_t, pair=Py_ssize_t, above=bint)
    cdef void branch_on_loosest(self, Node node, Py_ssize_t cut) noexcept
