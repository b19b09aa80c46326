cimport cython
from pessimal.solvers.search.node cimport Node
from pessimal.solvers.search.sides cimport Sides
from pessimal.lp.simplex cimport Simplex

cdef int INFEASIBLE, STALLED
cdef Py_ssize_t NO_CONFLICT, UNKNOWN
cdef double INF, PIVOT


cdef class ConflictFinder:
    cdef Sides sides
    cdef readonly Simplex trial
    cdef Py_ssize_t n
    cdef Py_ssize_t[::1] item, side, order, low_by, high_by, members
    cdef double[::1] bound

    cdef void clear(self) noexcept
    cdef void add(self, Py_ssize_t item, Py_ssize_t side, double bound) noexcept
    @cython.locals(k=Py_ssize_t)
    cdef void sort(self) noexcept
    @cython.locals(c=Py_ssize_t, k=Py_ssize_t, status=int)
    cdef Py_ssize_t find(self, Node node) noexcept
    @cython.locals(count=Py_ssize_t, k=Py_ssize_t, a=double)
    cdef Py_ssize_t farkas(self) noexcept
    @cython.locals(k=Py_ssize_t)
    cdef Py_ssize_t insert(self, Py_ssize_t member, Py_ssize_t count) noexcept
    @cython.locals(c=Py_ssize_t)
    cdef Py_ssize_t name(self, Node node, Py_ssize_t count) noexcept
