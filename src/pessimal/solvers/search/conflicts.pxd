cimport cython
from pessimal.lp.simplex cimport Simplex
from pessimal.solvers.search.complementarities cimport Complementarities
from pessimal.solvers.search.node cimport Node
from pessimal.solvers.search.strong_branching cimport StrongBranching

cdef int INFEASIBLE, STALLED
cdef Py_ssize_t ABOVE
cdef double INF, CUTOFF, PIVOT, HIGH_ENOUGH


cdef class ConflictFinder:
    cdef Complementarities pairs
    cdef StrongBranching strong
    cdef readonly Simplex trial
    cdef Py_ssize_t n, size
    cdef Py_ssize_t[::1] pair, side, order, kept, low_by, high_by, members, estimated
    cdef double[::1] bound

    cdef void add(self, Py_ssize_t pair, Py_ssize_t side, double bound, bint estimated) noexcept
    @cython.locals(k=Py_ssize_t)
    cdef void sort(self) noexcept
    @cython.locals(trial=Simplex, end=Py_ssize_t, status=int)
    cdef Py_ssize_t find(self, Node node) noexcept
    @cython.locals(gap=double, high_enough=double, lowest=Py_ssize_t, place=Py_ssize_t, status=int)
    cdef void improve(self, Node node, Py_ssize_t end) noexcept
    @cython.locals(c=Py_ssize_t, k=Py_ssize_t, by=Py_ssize_t)
    cdef void impose(self, Py_ssize_t place) noexcept
    @cython.locals(c=Py_ssize_t, k=Py_ssize_t)
    cdef void take_back(self, Node node, Py_ssize_t place) noexcept
    @cython.locals(member=Py_ssize_t)
    cdef void bound_members(self, Node node) noexcept
    @cython.locals(c=Py_ssize_t, i=Py_ssize_t)
    cdef void bound_member(self, Node node, Py_ssize_t member) noexcept
    @cython.locals(trial=Simplex, k=Py_ssize_t, a=double)
    cdef void farkas(self) noexcept
    @cython.locals(k=Py_ssize_t)
    cdef void insert(self, Py_ssize_t member) noexcept
    @cython.locals(c=Py_ssize_t, k=Py_ssize_t)
    cdef Py_ssize_t write_children(self, Node node) noexcept
