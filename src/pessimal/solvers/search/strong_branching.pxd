cimport cython
from pessimal.lp.simplex cimport Simplex
from pessimal.solvers.search.complementarities cimport Complementarities
from pessimal.solvers.search.heuristic cimport Incumbent
from pessimal.solvers.search.node cimport Node
from pessimal.solvers.search.pseudo_costs cimport PseudoCosts

cdef int INFEASIBLE, CUT_OFF
cdef Py_ssize_t ABOVE, STRONG_BRANCHING_STEPS
cdef double INF, CUTOFF


cdef class StrongBranching:
    cdef Complementarities pairs
    cdef Incumbent incumbent
    cdef Simplex trial
    cdef PseudoCosts pseudo_costs

    cdef double first_bound(self, Node node, Py_ssize_t pair, Py_ssize_t side) noexcept
    @cython.locals(trial=Simplex, status=int)
    cdef double crossing_bound(self, Node node, Py_ssize_t pair, Py_ssize_t side) noexcept
