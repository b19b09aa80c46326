cimport cython
from pessimal.lp.simplex cimport Simplex
from pessimal.lp.watch cimport Watch
from pessimal.solvers.search.budget cimport BudgetCondition
from pessimal.solvers.search.complementarities cimport Complementarities

cdef int OPTIMAL
cdef double INF, CUTOFF, LP_FEASIBILITY, REDUCED_COST
cdef Py_ssize_t BISECTIONS, BUDGET_ROUNDS


cdef class Incumbent:
    cdef Simplex root, piece
    cdef Complementarities pairs
    cdef BudgetCondition budget
    cdef Watch watch
    cdef Py_ssize_t n_features, reduced_cost_row
    cdef const double[::1] lower, upper
    cdef double[::1] box, u, u_box
    cdef Py_ssize_t[::1] binding
    cdef public double best
    cdef readonly bint found

    cdef void widest_box(self, Simplex primal, double[::1] values) noexcept
    cdef bint try_multipliers(self, double[::1] values) noexcept
    cdef void accept(self, Simplex primal) noexcept
    cpdef void take(self, double[::1] z, double[::1] box, double objective) noexcept


cdef class Heuristic:
    cdef Incumbent incumbent
    cdef BudgetCondition budget
    cdef object rng, seed, primal
    cdef Simplex inner, mixed
    cdef Py_ssize_t n_features, n_train, n_val
    cdef bint weighted
    cdef const double[::1] train_weight, val_weight, point_weight, upper, lower
    cdef double[::1] box, values, other_values
    cdef Py_ssize_t[::1] point_row, point_sign

    cpdef void try_initial_boxes(self, double target)
    @cython.locals(j=Py_ssize_t, kind=double, size=double)
    cpdef void improve(self, double target)
    cpdef void try_given(self, double[::1] box)
    @cython.locals(slope=cython.double[::1])
    cdef void fit_mixed(self, double share)
    @cython.locals(k=Py_ssize_t, train_share=double, flip_share=double)
    cdef bint fit(self, double share) noexcept
    @cython.locals(n=Py_ssize_t, scale=double)
    cdef void read_multipliers(self, double share, double[::1] values) noexcept
    cdef void try_box(self, double share)
    @cython.locals(found=bint)
    cdef void try_budget(self) noexcept
    @cython.locals(loss=double)
    cpdef bint accept_narrowest(self)
