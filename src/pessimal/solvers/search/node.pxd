from pessimal.solvers.search.sides cimport Sides
from pessimal.lp.simplex cimport Simplex

cdef Py_ssize_t ABOVE


cdef class Node:
    cdef readonly Simplex primal, dual
    cdef Sides sides
    cdef Py_ssize_t pull_row
    cdef Py_ssize_t[::1] pulled
    cdef Py_ssize_t n_children
    cdef Py_ssize_t[::1] item, side
    cdef double[::1] bound

    cdef void copy_from(self, Node other) noexcept
    cdef void keep(self, Py_ssize_t item, Py_ssize_t side) noexcept
    cdef void flip(self, Py_ssize_t item, Py_ssize_t side) noexcept
    cdef void split(self, Py_ssize_t item, Py_ssize_t side) noexcept
