cimport cython
from pessimal.lp.simplex cimport Simplex
from pessimal.lp.watch cimport Watch
from pessimal.solvers.search.complementarities cimport Complementarities

cdef Py_ssize_t ABOVE, BELOW, BYTES, DIVE
cdef double INF, FIRST_DIVE, BEST_FIRST_SHARE


cdef class Node:
    cdef readonly Simplex primal, dual
    cdef Complementarities pairs
    cdef readonly Py_ssize_t number
    cdef Py_ssize_t reduced_cost_row, n_children
    cdef Py_ssize_t[::1] binding, pair, side
    cdef double[::1] bound

    cdef void copy_from(self, Node other) noexcept
    cdef void fix(self, Py_ssize_t pair, Py_ssize_t side) noexcept
    cdef void cross(self, Py_ssize_t pair, Py_ssize_t side) noexcept
    cdef void branch(self, Py_ssize_t pair, Py_ssize_t side) noexcept
    cdef double next_bound(self) noexcept
    cdef bint has_children(self, double cutoff) noexcept
    cdef void become_child(self, Node parent, Py_ssize_t number) noexcept
    cdef object decided(self)
    @cython.locals(end=Py_ssize_t, start=Py_ssize_t)
    cdef void wait(self, Simplex root, double bound, const double[::1] decided) noexcept


cdef class OpenNodes:
    cdef object conditions
    cdef Watch watch
    cdef Py_ssize_t capacity, n_made, n_taken, dive_end
    cdef list spare, by_bound, by_number

    @cython.locals(node=Node)
    cdef Node take(self)
    cdef void release(self, Node node)
    cdef void add(self, Node node)
    @cython.locals(child=Node, number=Py_ssize_t, node=Node)
    cdef list children(self)
    @cython.locals(number=Py_ssize_t, node=Node, room=bint)
    cdef Node next(self, double cutoff)
    @cython.locals(bound=double, number=Py_ssize_t, node=Node)
    cdef double bound(self)
