cimport cython
from pessimal.solvers.search.budget cimport BudgetCondition
from pessimal.solvers.search.incumbent cimport Incumbent
from pessimal.lp.simplex cimport Simplex
from pessimal.lp.watch cimport Watch

cdef int OPTIMAL
cdef double INF, CUTOFF, LP_FEASIBILITY
cdef Py_ssize_t BISECTIONS


cdef class Heuristic:
    cdef Incumbent incumbent
    cdef BudgetCondition budget
    cdef object rng, seed, primal
    cdef Simplex inner, mixed
    cdef Watch watch
    cdef Py_ssize_t n_features, n_train, n_val, pull_row
    cdef bint weighted
    cdef const double[::1] train_weight, val_weight, point_weight, upper, lower
    cdef double[::1] box, values, other
    cdef Py_ssize_t[::1] point_row, point_sign

    cpdef void starts(self, double target)
    @cython.locals(j=Py_ssize_t, kind=double, size=double)
    cpdef void improve(self, double target)
    @cython.locals(slope=cython.double[::1])
    cdef void fit_mixed(self, double share)
    @cython.locals(k=Py_ssize_t, train_share=double, flip_share=double)
    cdef bint fit(self, double share) noexcept
    cdef double train_loss(self) noexcept
    @cython.locals(n=Py_ssize_t, scale=double)
    cdef void read(self, double share, double[::1] values) noexcept
    cdef void try_box(self, double share)
    @cython.locals(loss=double)
    cpdef bint settle_for_narrowest(self)
    @cython.locals(found=bint)
    cdef void try_budget(self) noexcept
