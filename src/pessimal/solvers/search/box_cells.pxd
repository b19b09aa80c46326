cimport cython
from pessimal.lp.simplex cimport Simplex
from pessimal.lp.watch cimport Watch
from pessimal.solvers.search.budget cimport BudgetCondition

cdef double INF, CLOSE, STEP, LARGEST_RATE, SLACK, NARROWEST
cdef Py_ssize_t TRIED, MOST_OPEN


cdef class BoxCells:
    cdef readonly Py_ssize_t n_cells
    cdef Py_ssize_t n_features, n_train, n_val
    cdef BudgetCondition budget
    cdef Watch watch
    cdef const double[::1] val_weight, train_weight
    cdef double[::1] flip_weight
    cdef Simplex choice, model
    cdef double[::1] low, high
    cdef double price, rate, unresolved, choice_loss, choice_train_loss
    cdef list open

    @cython.locals(bound=double, feature=Py_ssize_t, side=Py_ssize_t, middle=double, price=double, rate=double, low=cython.double[::1], high=cython.double[::1])
    cpdef void advance(self, Py_ssize_t n_cells, double cutoff, double price_limit)
    cpdef double bound(self)
    cdef void add(self, double bound, double cutoff, double price_limit)
    @cython.locals(limit=double, largest=double, least=double, near=double, near_loss=double, far=double, far_loss=double, price=double, loss=double, excess=double)
    cdef double largest_flipped_loss(self, double price_limit) noexcept
    @cython.locals(p=Py_ssize_t, k=Py_ssize_t, margin=double, w=double)
    cdef void choose(self, double price) noexcept
    @cython.locals(bound=double, excess=double, near=double, near_loss=double, far=double, far_loss=double, rate=double)
    cdef double least_loss(self, double largest, double cutoff) noexcept
    cdef void fit(self, double rate) noexcept
    @cython.locals(total=double)
    cdef double loss(self) noexcept
    @cython.locals(total=double, first=Py_ssize_t)
    cdef double flipped_loss(self) noexcept
    @cython.locals(best=double, feature=Py_ssize_t, width=double, cost=double, score=double)
    cdef Py_ssize_t widest(self) noexcept
