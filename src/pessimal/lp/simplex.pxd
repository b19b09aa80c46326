cimport cython
from pessimal.lp.dictionary cimport Dictionary

cdef int OPTIMAL, INFEASIBLE, CUT_OFF, STALLED
cdef double INF, PIVOT, HARRIS, SMALL_PIVOT, PERTURBATION, GOLDEN, LEAST_COST, LP_FEASIBILITY
cdef Py_ssize_t REFACTOR_AFTER, REFACTOR_WITHIN


cdef class Simplex(Dictionary):
    cdef readonly Py_ssize_t row, direction
    cdef Py_ssize_t column
    cdef double[::1] true_left, true_right, ratio

    cpdef int solve(self, double cutoff) noexcept
    @cython.locals(slope=double, largest=double, scale=double)
    cdef void perturb(self) noexcept
    cdef void unperturb(self) noexcept
    @cython.locals(row=Py_ssize_t, direction=Py_ssize_t, steepest=double, steepness=double, worst=double, off=double, at=double, start=double, end=double, target=double, own=double, magnitude=double, rough=bint)
    cdef int iterate(self, double cutoff, Py_ssize_t n_steps, bint bland) noexcept
    @cython.locals(total=double)
    cdef double edge(self, Py_ssize_t i) noexcept
    @cython.locals(slack=double, limit=double, step=double, largest=double, a=double, at=double, room=double, slope=double)
    cdef double entering(self, Py_ssize_t row, Py_ssize_t direction, bint bland) noexcept
    @cython.locals(right=bint)
    cdef void pivot(self, Py_ssize_t row, Py_ssize_t column, double target, Py_ssize_t direction, double step) noexcept
    @cython.locals(furthest=double, cost=double)
    cpdef double reach(self, Py_ssize_t k, Py_ssize_t direction, double gap) noexcept
    cdef double cost_to_move(self, Py_ssize_t k, Py_ssize_t direction) noexcept
    @cython.locals(step=double, ratio=double)
    cpdef double bound_after(self, Py_ssize_t k, double low, double high) noexcept
