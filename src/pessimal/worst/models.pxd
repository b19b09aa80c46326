cimport cython
from pessimal.lp.simplex cimport Simplex

cdef int INFEASIBLE, OPTIMAL, STALLED
cdef double INF, LP_FEASIBILITY
cdef Py_ssize_t MOST_ROUNDS


cdef class Models(Simplex):
    cdef readonly Py_ssize_t n_val
    cdef readonly double limit
    cdef Py_ssize_t n_train, n_cuts, first_cut
    cdef const double[:, ::1] train_rows
    cdef const double[::1] train_weight
    cdef double[::1] normal, cut_weight, widest_low, widest_high

    cpdef void move_to(self, const double[::1] box, double limit)
    cdef void charge(self, Py_ssize_t k, double slope, double root)
    cpdef double scenario(self, const double[::1] weight)
    cdef int optimise_scenario(self, const double[::1] weight)
    cdef int optimise(self, double cutoff)
    @cython.locals(loss=double, total=double, margin=double)
    cdef bint cut(self)
    cdef void set_target(self, double at_most)
    cdef void lift_target(self)
    @cython.locals(found=Py_ssize_t, most=double, slack=double)
    cdef Py_ssize_t loosest_cut(self)
    @cython.locals(value=double)
    cdef void write_row(self, Py_ssize_t row)
    @cython.locals(rate=double)
    cpdef double limit_rate(self)
