cimport cython
from pessimal.lp.simplex cimport Simplex
from pessimal.lp.watch cimport Watch
from pessimal.solvers.search.budget cimport BudgetCondition
from pessimal.solvers.search.complementarities cimport Complementarities
from pessimal.solvers.search.next_piece cimport NextPiece

cdef int OPTIMAL
cdef double INF, CUTOFF, LP_FEASIBILITY, REDUCED_COST
cdef double FREE, DRAWN
cdef Py_ssize_t PRICES, MOST_PIECES, BUDGET_ROUNDS


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
    cdef bint solve_piece(self, double[::1] values, double cutoff) noexcept
    cdef void accept(self, Simplex primal) noexcept
    cpdef void take(self, double[::1] z, double[::1] box, double objective) noexcept


cdef class Heuristic:
    cdef Incumbent incumbent
    cdef BudgetCondition budget
    cdef object rng, seed, primal, conditions
    cdef Simplex inner, mixed
    cdef NextPiece next_piece
    cdef public bint climbs
    cdef Py_ssize_t n_features, n_train, n_val
    cdef bint weighted
    cdef const double[::1] train_weight, val_weight, point_weight, upper, lower
    cdef double[::1] box, values
    cdef Py_ssize_t[::1] point_row, point_sign

    cpdef void try_initial_boxes(self, double target)
    cpdef void improve(self, double target, bint freely=*)
    @cython.locals(j=Py_ssize_t, kind=double, size=double)
    cdef void change_box(self)
    @cython.locals(size=double, spread=double, least=double, exponent=double)
    cdef void draw_box(self)
    cpdef void try_given(self, double[::1] box)
    @cython.locals(slope=cython.double[::1])
    cdef void fit_mixed(self, double share)
    @cython.locals(k=Py_ssize_t, train_share=double, flip_share=double)
    cdef bint fit(self, double share) noexcept
    @cython.locals(n=Py_ssize_t, scale=double)
    cdef void read_multipliers(self, double share, double[::1] values) noexcept
    cdef void try_box(self, double share, bint free=*)
    @cython.locals(incumbent=Incumbent, cutoff=double)
    cdef void climb(self, bint free)
    @cython.locals(limit=double, near=double, near_loss=double, far=double, far_loss=double, share=double, price=double, train_loss=double, loss=double)
    cdef double price_of_budget(self) noexcept
    @cython.locals(total=double)
    cdef double flipped_loss(self) noexcept
    @cython.locals(loss=double)
    cpdef bint accept_narrowest(self)
