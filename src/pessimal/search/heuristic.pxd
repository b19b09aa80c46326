cimport cython
from pessimal.search.budget cimport BudgetCondition
from pessimal.search.incumbent cimport Incumbent
from pessimal.search.simplex cimport Simplex

cdef int OPTIMAL
cdef double INF, CUTOFF, LP_FEASIBILITY
cdef Py_ssize_t BISECTIONS


cdef class Heuristic:
    cdef Incumbent incumbent
    cdef BudgetCondition budget
    cdef object rng, seed, A, low, high
    cdef Simplex inner, mixed
    cdef Py_ssize_t n_features, n_train, n_val, pull_row
    cdef bint weighted
    cdef double[::1] train_weight, val_weight, point_weight, upper, lower, box, values, other
    cdef double[::1] inner_left, inner_right, mixed_left
    cdef Py_ssize_t[::1] point_row, point_sign

    cpdef void starts(self, double target)
    @cython.locals(j=Py_ssize_t, kind=double, size=double)
    cpdef void improve(self, double target)
    cdef void fit_mixed(self, double share)
    @cython.locals(weight=double)
    cdef bint fit(self, double share)
    cdef double train_loss(self)
    @cython.locals(n=Py_ssize_t, scale=double)
    cdef void read(self, double share, double[::1] values)
    cdef void try_box(self, double share)
    @cython.locals(found=bint)
    cdef void try_budget(self)
