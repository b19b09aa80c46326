cimport cython
from pessimal.lp.simplex cimport Simplex
from pessimal.solvers.search.complementarities cimport Complementarities

cdef int OPTIMAL
cdef Py_ssize_t ABOVE, BELOW
cdef double INF, LEAST_RATE, LEAST_GAIN, GROWTH, LARGEST_MULTIPLIER, AT_BREAKPOINT, REDUCED_COST


cdef class NextPiece:
    cdef Complementarities pairs
    cdef Simplex dual
    cdef bint weighted, keeps_box
    cdef Py_ssize_t n_points, n_features, reduced_cost_row
    cdef const double[::1] upper, low, high
    cdef double[::1] reach, reach_per_multiplier

    @cython.locals(k=Py_ssize_t, distance=double, off=double, left=bint, rate=double)
    cdef bint find(self, Simplex piece, double[::1] values) noexcept
    @cython.locals(dual=Simplex, most=double, limit=double)
    cdef void relax(self, double multiplier) noexcept
    @cython.locals(k=Py_ssize_t, implied=double)
    cdef double charge(self, Py_ssize_t pair, Py_ssize_t side, double rate, double[::1] values) noexcept
    @cython.locals(k=Py_ssize_t)
    cdef void keep_box(self, Simplex piece, double[::1] values) noexcept
