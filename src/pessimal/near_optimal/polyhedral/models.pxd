cimport cython
from pessimal.lp.simplex cimport Simplex

cdef int INFEASIBLE, OPTIMAL, STALLED
cdef double INF, LP_FEASIBILITY, ROUNDING
cdef Py_ssize_t MOST_ROUNDS, MOST_STEPS


cdef class Models(Simplex):
    cdef readonly Py_ssize_t n_val
    cdef public Py_ssize_t rounds
    cdef readonly double limit, unit, share
    cdef Py_ssize_t n_train, n_cuts, first_cut
    cdef const double[:, ::1] train_rows
    cdef const double[::1] train_weight
    cdef double[::1] inner, inner_margin, margin, normal, terms, cut_weight, widest_low, widest_high

    cpdef void move_to(self, const double[::1] box, double limit, double unit, const double[::1] inner)
    cdef void forget_cuts(self)
    cpdef void replace_rows(self, const double[:, ::1] rows)
    cdef void set_cost(self, Py_ssize_t k, double slope_left, double slope_right, double kink)
    cpdef double active_set_loss(self, const double[::1] weight)
    cdef int optimise_active_set(self, const double[::1] weight)
    cpdef int minimise(self, const double[:, ::1] A, Py_ssize_t row, double sign)
    cdef int optimise(self, double cutoff)
    @cython.locals(total=double, size=double, share=double, part=double)
    cpdef double safe_bound(self)
    @cython.locals(reach=double)
    cdef bint certainly_infeasible(self)
    @cython.locals(loss=double, rate=double, weight=double, total=double, margin=double, change=double, most=double, last=double)
    cdef bint cut(self)
    cdef void trace(self, Py_ssize_t c, double last)
    cdef void add_objective_cut(self, double at_most)
    cdef void drop_objective_cut(self)
    @cython.locals(found=Py_ssize_t, most=double, slack=double)
    cdef Py_ssize_t loosest_cut(self)
    @cython.locals(value=double)
    cdef void write_row(self, Py_ssize_t row)
    @cython.locals(rate=double)
    cpdef double limit_rate(self)
