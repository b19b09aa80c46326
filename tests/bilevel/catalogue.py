"""Published bilevel programs with their optima, in CVXPY, each with its source.

A value is written as the source has it where that is exact, as a fraction where the source rounds.
`enumeration` has confirmed every one of them; a comment says where a source is wrong or silent.
Values of the pessimistic view are infima; `unattained` says that no decision attains it. Where the
response is unique after every decision, the pessimistic optimum is the optimistic one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cvxpy
import numpy as np

from pessimal.bilevel import BilevelProblem, Follower

cp: Any = cvxpy


@dataclass(frozen=True)
class Published:
    """A published problem; a value that is infinite says that there is no feasible decision.

    `doubtful` marks those of which it is not certain that citation, data and values are all as the
    source has them: from a collection, by enumeration, or with data of our own.
    """

    name: str
    source: str
    build: Callable[[], BilevelProblem]
    optimistic: float | None = None
    pessimistic: float | None = None
    epsilon: float = 0.0
    delta: float = 0.0
    unattained: bool = False
    doubtful: bool = False


CATALOGUE: list[Published] = []


def published(source: str, **facts: Any) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Register a problem under the name of the function that builds it."""

    def register(build: Callable[[], Any]) -> Callable[[], Any]:
        CATALOGUE.append(Published(build.__name__, source, build, **facts))
        return build

    return register


def _pair() -> tuple[Any, Any]:
    return cp.Variable(nonneg=True), cp.Variable(nonneg=True)


# ------------------------------------------------------------------------------------------------
# Linear in both levels


@published(
    "Anandalingam & White (1990), A solution method for the linear static Stackelberg problem "
    "using penalty functions, IEEE Trans. Autom. Control 35, 1170-1173, Example 1",
    optimistic=-49.0,
    pessimistic=-49.0,
)
def anandalingam_white_1990() -> BilevelProblem:
    x, y = _pair()
    rows = [x + 2 * y >= 10, x - 2 * y <= 6, 2 * x - y <= 21, x + 2 * y <= 38, 2 * y - x <= 18]
    return BilevelProblem(
        cp.Minimize(-x - 3 * y), [], Follower(cp.Minimize(-x + 3 * y), rows, variables=[y])
    )


@published(
    "Bard (1984), Optimality conditions for the bilevel programming problem, Naval Research "
    "Logistics Quarterly 31, 13-26, Example 1; data as in BOLIB 2",
    optimistic=28 / 9,
)
def bard_1984_a() -> BilevelProblem:
    x, y = _pair()
    rows = [x + y / 2 >= 2, y - x / 4 <= 2, x + y / 2 <= 8, x - 2 * y <= 4]
    return BilevelProblem(
        cp.Minimize(x + y), [], Follower(cp.Minimize(-5 * x - y), rows, variables=[y])
    )


@published(
    "Bard (1984), Optimality conditions for the bilevel programming problem, Naval Research "
    "Logistics Quarterly 31, 13-26; data as in BOLIB 2",
    optimistic=-37.6,
    pessimistic=-37.6,
)
def bard_1984_b() -> BilevelProblem:
    x, y = _pair()
    rows = [x + y / 2 >= 2, y - x / 4 <= 2, x + y / 2 <= 8, x - 2 * y <= 4]
    return BilevelProblem(
        cp.Minimize(-5 * x - y), [], Follower(cp.Minimize(y), rows, variables=[y])
    )


@published(
    "Bard (1991), Some properties of the bilevel programming problem, J. Optim. Theory Appl. 68, "
    "371-378, Example 2.2: at x = 0 a follower without an interest may cost the leader 10; "
    "x = 1 leaves it no choice",
    optimistic=-1.0,
    pessimistic=-1.0,
)
def bard_1991() -> BilevelProblem:
    x, y = cp.Variable(nonneg=True), cp.Variable(2, nonneg=True)
    rows = [x + y <= 1, cp.sum(y) <= 1]
    return BilevelProblem(
        cp.Minimize(-x + 10 * y[0] - y[1]),
        [],
        Follower(cp.Minimize(-cp.sum(y)), rows, variables=[y]),
    )


@published(
    "Bard & Falk (1982), An explicit solution to the multi-level programming problem, Computers & "
    "Operations Research 9, 77-100, Example 1",
    optimistic=-26.0,
)
def bard_falk_1982_a() -> BilevelProblem:
    return _candler_townsley(4.0)


@published(
    "Candler & Townsley (1982), A linear two-level programming problem, Computers & Operations "
    "Research 9, 59-76, Section 6",
    optimistic=-29.2,
    pessimistic=-29.2,
)
def candler_townsley_1982() -> BilevelProblem:
    return _candler_townsley(-4.0)


def _candler_townsley(third: float) -> BilevelProblem:
    x, y = cp.Variable(2, nonneg=True), cp.Variable(3, nonneg=True)
    rows = [
        -y[0] + y[1] + y[2] <= 1,
        2 * x[0] - y[0] + 2 * y[1] - 0.5 * y[2] <= 1,
        2 * x[1] + 2 * y[0] - y[1] - 0.5 * y[2] <= 1,
    ]
    outer = -8 * x[0] - 4 * x[1] + np.array([4.0, -40.0, third]) @ y
    inner = x[0] + 2 * x[1] + np.array([1.0, 1.0, 2.0]) @ y
    return BilevelProblem(cp.Minimize(outer), [], Follower(cp.Minimize(inner), rows, variables=[y]))


@published(
    "Bard & Falk (1982), An explicit solution to the multi-level programming problem, Computers & "
    "Operations Research 9, 77-100, Example 2; Tuy et al. (1993) have its last row outside",
    optimistic=-3.25,
)
def bard_falk_1982_b() -> BilevelProblem:
    x, y = cp.Variable(2, nonneg=True), cp.Variable(2, nonneg=True)
    rows = [y[0] - y[1] - 2 * x[0] <= -2.5, x[0] - 3 * x[1] + y[1] <= 2, cp.sum(x) <= 2]
    inner = cp.sum(x) - 4 * y[0] + y[1]
    return BilevelProblem(
        cp.Minimize(-2 * x[0] + x[1] + y[0] / 2),
        [],
        Follower(cp.Minimize(inner), rows, variables=[y]),
    )


@published(
    "Ben-Ayed & Blair (1990), Computational difficulties of bilevel linear programming, Operations "
    "Research 38, 556-560, Example 1",
    optimistic=-2.5,
)
def ben_ayed_blair_1990_a() -> BilevelProblem:
    x, y = cp.Variable(bounds=[0, 1]), cp.Variable(2, nonneg=True)
    rows = [x + 3 * y[0] + y[1] <= 5, 2 * x + y[0] + 3 * y[1] <= 5]
    outer = -1.5 * x - 6 * y[0] - y[1]
    return BilevelProblem(
        cp.Minimize(outer), [], Follower(cp.Maximize(y[0] + 5 * y[1]), rows, variables=[y])
    )


@published(
    "Ben-Ayed & Blair (1990), Computational difficulties of bilevel linear programming, Operations "
    "Research 38, 556-560, Example 2",
    optimistic=-6.0,
)
def ben_ayed_blair_1990_b() -> BilevelProblem:
    x, y = _pair()
    rows = [4 * x + 3 * y >= 19, x + 2 * y <= 11, 3 * x + y <= 13]
    return BilevelProblem(cp.Minimize(-x - y), [], Follower(cp.Minimize(y), rows, variables=[y]))


@published(
    "Bialas & Karwan (1984), Two-level linear programming, Management Science 30, 1004-1020; the "
    "follower does not care about one of its variables",
    optimistic=-2.0,
)
def bialas_karwan_1984_a() -> BilevelProblem:
    x, y, z = cp.Variable(nonneg=True), cp.Variable(nonneg=True), cp.Variable(nonneg=True)
    rows = [x + y + z <= 3, x + y - z >= 1, y + z - x <= 1, x + z - y <= 1, z <= 0.5]
    return BilevelProblem(cp.Minimize(-x - z), [], Follower(cp.Maximize(z), rows, variables=[y, z]))


@published(
    "Bialas & Karwan (1984), Two-level linear programming, Management Science 30, 1004-1020",
    optimistic=-11.0,
)
def bialas_karwan_1984_b() -> BilevelProblem:
    x, y = _pair()
    rows = [x + 2 * y >= 10, x + 2 * y <= 38, 2 * y - x <= 18, x - 2 * y <= 6, 2 * x - y <= 21]
    return BilevelProblem(cp.Minimize(-y), [], Follower(cp.Minimize(y), rows, variables=[y]))


@published(
    "Clark & Westerberg (1988), A note on the optimality conditions for the bilevel programming "
    "problem, Naval Research Logistics 35, 413-418; all variables free",
    optimistic=-37.0,
)
def clark_westerberg_1988() -> BilevelProblem:
    x, y = cp.Variable(), cp.Variable()
    rows = [y <= 2 * x, 2 * x + 5 * y <= 108, 2 * x - 3 * y <= -4]
    return BilevelProblem(cp.Minimize(x - 4 * y), [], Follower(cp.Minimize(y), rows, variables=[y]))


@published(
    "Clark & Westerberg (1990), Bilevel programming for steady-state chemical process design - I, "
    "Computers & Chemical Engineering 14, 87-97; pessimistic value by enumeration",
    optimistic=-13.0,
    pessimistic=-6.0,
    doubtful=True,
)
def clark_westerberg_1990_b() -> BilevelProblem:
    x, y, z = cp.Variable(bounds=[0, 8]), cp.Variable(bounds=[0, 4]), cp.Variable()
    rows = [
        -2 * x + y + 4 * z <= 16,
        8 * x + 3 * y - 2 * z <= 48,
        -2 * x + y - 3 * z <= -12,
    ]
    return BilevelProblem(
        cp.Minimize(-x - 3 * y + 2 * z), [], Follower(cp.Minimize(-y), rows, variables=[y, z])
    )


@published(
    "Glackin, Ecker & Kupferschmid (2009), Solving bilevel linear programs using multiple "
    "objective linear programming, J. Optim. Theory Appl. 140, 197-212",
    optimistic=6.0,
    doubtful=True,
)
def glackin_2009() -> BilevelProblem:
    x, y = cp.Variable(2, nonneg=True), cp.Variable(nonneg=True)
    rows = [cp.sum(x) + y <= 4, 2 * cp.sum(x) + y <= 6]
    outer = -2 * x[0] + 4 * x[1] + 3 * y
    return BilevelProblem(
        cp.Minimize(outer), [x[0] - x[1] <= -1], Follower(cp.Maximize(y), rows, variables=[y])
    )


@published(
    "Haurie, Savard & White (1990), A note on an efficient point algorithm for a linear two-stage "
    "optimization problem, Operations Research 38, 553-555",
    optimistic=27.0,
)
def haurie_savard_white_1990() -> BilevelProblem:
    x, y = cp.Variable(), cp.Variable()
    rows = [2 * y - 3 * x <= 6, 3 * x + 4 * y <= 48, 2 * x - 5 * y <= 9, x + y >= 8]
    return BilevelProblem(cp.Minimize(x + 5 * y), [], Follower(cp.Maximize(y), rows, variables=[y]))


# The source found −85.0855; enumeration finds the vertex x = 192/11, y = 10 + 10/11, of value
# −936/11 = −85.0909, and nothing below it.
@published(
    "Lan, Wen, Shih & Lee (2007), A hybrid neural network approach to bilevel programming "
    "problems, Applied Mathematics Letters 20, 880-884",
    optimistic=-936 / 11,
    doubtful=True,
)
def lan_wen_shih_lee_2007() -> BilevelProblem:
    x, y = _pair()
    rows = [
        x - 2 * y <= 4,
        2 * x - y <= 24,
        3 * x + 4 * y <= 96,
        x + 7 * y <= 126,
        -4 * x + 5 * y <= 65,
        x + 4 * y >= 8,
    ]
    return BilevelProblem(
        cp.Minimize(2 * x - 11 * y), [], Follower(cp.Minimize(x + 3 * y), rows, variables=[y])
    )


@published(
    "Liu & Hart (1994), Characterizing an optimal solution to the linear bilevel programming "
    "problem, European J. Operational Research 73, 164-166",
    optimistic=-16.0,
    pessimistic=-16.0,
)
def liu_hart_1994() -> BilevelProblem:
    x, y = _pair()
    rows = [y - x <= 3, x + 2 * y <= 12, 4 * x - y <= 12]
    return BilevelProblem(
        cp.Minimize(-x - 3 * y), [], Follower(cp.Minimize(y), rows, variables=[y])
    )


@published(
    "Mersha & Dempe (2006), Linear bilevel programming with upper level constraints depending on "
    "the lower level solution, Applied Mathematics and Computation 180, 247-254, Example 2",
    optimistic=-20.0,
    pessimistic=-20.0,
)
def mersha_dempe_2006() -> BilevelProblem:
    x, y = cp.Variable(), cp.Variable()
    shared = [3 * y - 2 * x <= 12, x + y <= 14]
    rows = [y - 3 * x <= -3, 3 * x + y <= 30]
    return BilevelProblem(
        cp.Minimize(-x - 2 * y), shared, Follower(cp.Maximize(y), rows, variables=[y])
    )


@published(
    "Mersha & Dempe (2006), Linear bilevel programming with upper level constraints depending on "
    "the lower level solution, Applied Mathematics and Computation 180, 247-254: the same, all "
    "constraints the follower's",
    optimistic=-22.0,
)
def mersha_dempe_2006_inner() -> BilevelProblem:
    x, y = cp.Variable(), cp.Variable()
    rows = [y - 3 * x <= -3, 3 * x + y <= 30, 3 * y - 2 * x <= 12, x + y <= 14]
    return BilevelProblem(
        cp.Minimize(-x - 2 * y), [], Follower(cp.Maximize(y), rows, variables=[y])
    )


@published(
    "Tuy, Migdalas & Värbrand (1994), A quasiconcave minimization method for solving linear "
    "two-level programs, J. Global Optimization 4, 243-263",
    optimistic=6.0,
)
def tuy_1994() -> BilevelProblem:
    x, y = cp.Variable(2, nonneg=True), cp.Variable(2, nonneg=True)
    rows = [3 * x[0] + 5 * x[1] + 6 * y[0] + 2 * y[1] >= 15]
    outer = 3 * x[0] + 2 * x[1] + cp.sum(y)
    return BilevelProblem(
        cp.Minimize(outer),
        [cp.sum(x) + cp.sum(y) <= 4],
        Follower(cp.Minimize(4 * y[0] + y[1]), rows, variables=[y]),
    )


@published(
    "Visweswaran, Floudas, Ierapetritou & Pistikopoulos (1996), A decomposition-based global "
    "optimization approach for solving bilevel linear and quadratic programs, State of the Art in "
    "Global Optimization, 139-162",
    optimistic=28 / 9,
    doubtful=True,
)
def visweswaran_1996() -> BilevelProblem:
    x, y = _pair()
    rows = [x + y / 2 >= 2, y - x / 4 <= 2, x + y / 2 <= 8, x - 2 * y <= 2]
    return BilevelProblem(
        cp.Minimize(x + y), [], Follower(cp.Minimize(-5 * x - y), rows, variables=[y])
    )


@published(
    "Wang, Jiao & Li (2005), An evolutionary algorithm for solving nonlinear bilevel programming "
    "based on a new constraint-handling scheme, IEEE Trans. Systems, Man and Cybernetics C 35, "
    "221-232; as in BOLIB 2. The follower's set of optima is unbounded",
    optimistic=-1000.0,
    doubtful=True,
)
def wang_jiao_li_2005() -> BilevelProblem:
    x, y = cp.Variable(bounds=[0, 1]), cp.Variable(2)
    rows = [x + y[0] - y[1] <= 1, cp.sum(y) <= 1]
    return BilevelProblem(
        cp.Minimize(-100 * x - 1000 * y[0]),
        [],
        Follower(cp.Maximize(cp.sum(y)), rows, variables=[y]),
    )


@published(
    "Savard (1989), Contribution à la programmation mathématique à deux niveaux, PhD thesis, École "
    "Polytechnique de Montréal; as in BASBLib, with an outer constraint on a response",
    optimistic=-14.6,
    pessimistic=-14.6,
    doubtful=True,
)
def savard_1989() -> BilevelProblem:
    x, y = cp.Variable(2, nonneg=True), cp.Variable(3, nonneg=True)
    rows = [
        -y[0] + y[1] + y[2] <= 1,
        4 * x[0] - 2 * y[0] + 4 * y[1] - y[2] <= 2,
        4 * x[1] + 4 * y[0] - 2 * y[1] - y[2] <= 2,
    ]
    outer = -8 * x[0] - 4 * x[1] + 4 * y[0] - 40 * y[1] + 4 * y[2]
    return BilevelProblem(
        cp.Minimize(outer),
        [x[0] + 2 * x[1] - y[2] <= 1.3],
        Follower(cp.Minimize(2 * y[0] + y[1] + 2 * y[2]), rows, variables=[y]),
    )


@published(
    "Bard (1998), Practical Bilevel Optimization, Kluwer, Example 5.1.1; also Shimizu, Ishizuka & "
    "Bard (1997), Example 16.1.1",
    optimistic=-12.0,
)
def bard_1998_511() -> BilevelProblem:
    x, y = _pair()
    rows = [x + y >= 3, y <= 2 * x, 2 * x + y <= 12, 3 * x - 2 * y <= 4]
    return BilevelProblem(cp.Minimize(x - 4 * y), [], Follower(cp.Minimize(y), rows, variables=[y]))


@published(
    "Allende & Still (2013), Solving bilevel programs with the KKT-approach, Mathematical "
    "Programming 138, 309-332, Example 3.1: no constraint qualification at the optimum",
    optimistic=0.0,
    doubtful=True,
)
def allende_still_2013() -> BilevelProblem:
    x, y = cp.Variable(), cp.Variable()
    return BilevelProblem(
        cp.Minimize(-x - y), [], Follower(cp.Minimize(y), [x - y <= 0, y <= 0], variables=[y])
    )


@published(
    "Mitsos & Barton (2007), A Test Set for Bilevel Programs, Example 3.1; pessimistic as in "
    "Wiesemann, Tsoukalas, Kleniati & Rustem (2013), Pessimistic bilevel optimization, SIAM J. "
    "Optim. 23, 353-380: the response is unique",
    optimistic=1.0,
    pessimistic=1.0,
)
def mitsos_barton_2007_01() -> BilevelProblem:
    y = cp.Variable(bounds=[-1, 1])
    return BilevelProblem(cp.Minimize(y), [], Follower(cp.Minimize(-y), [], variables=[y]))


@published(
    "Mitsos & Barton (2007), A Test Set for Bilevel Programs, Example 3.2: infeasible",
    optimistic=math.inf,
    pessimistic=math.inf,
)
def mitsos_barton_2007_02() -> BilevelProblem:
    y = cp.Variable(bounds=[-1, 1])
    return BilevelProblem(cp.Minimize(y), [y <= 0], Follower(cp.Minimize(-y), [], variables=[y]))


@published(
    "Pineda & Morales (2019), Solving linear bilevel problems using big-Ms: not all that glitters "
    "is gold, IEEE Trans. Power Systems 34, 2469-2471: a wrong M gives 1",
    optimistic=-102.0,
)
def pineda_morales_2019() -> BilevelProblem:
    x, y = cp.Variable(bounds=[0, 2]), cp.Variable(nonneg=True)
    return BilevelProblem(
        cp.Minimize(-x - y), [], Follower(cp.Minimize(y), [100 * x - y <= 100], variables=[y])
    )


@published(
    "Kleinert (2021), Algorithms for mixed-integer bilevel problems with convex followers, PhD "
    "thesis, Universität Trier, Example 1: an outer constraint on the response",
    optimistic=39 / 7,
    pessimistic=39 / 7,
    doubtful=True,
)
def kleinert_2021() -> BilevelProblem:
    x, y = cp.Variable(nonneg=True), cp.Variable()
    rows = [2 * x - y >= 0, x + y <= 6, 6 * y - x >= -3, x + 3 * y >= 3]
    return BilevelProblem(
        cp.Minimize(x + 6 * y), [5 * y - x <= 12.5], Follower(cp.Maximize(y), rows, variables=[y])
    )


@published(
    "Moore & Bard (1990), The mixed integer linear bilevel programming problem, Operations "
    "Research 38, 911-921, Example 1, whose outer variable alone is integer here: the optimum of "
    "the continuous problem, (8, 1), has an integer x",
    optimistic=-18.0,
)
def moore_bard_1990() -> BilevelProblem:
    x, y = cp.Variable(integer=True), cp.Variable(nonneg=True)
    rows = [
        -25 * x + 20 * y <= 30,
        x + 2 * y <= 10,
        2 * x - y <= 15,
        2 * x + 10 * y >= 15,
    ]
    return BilevelProblem(
        cp.Minimize(-x - 10 * y), [x >= 0], Follower(cp.Minimize(y), rows, variables=[y])
    )


# ------------------------------------------------------------------------------------------------
# Quadratic in one level or both


@published(
    "Shimizu & Aiyoshi (1981), A new computational method for Stackelberg and min-max problems by "
    "use of a penalty method, IEEE Trans. Autom. Control 26, 460-466, Example 1",
    optimistic=100.0,
)
def shimizu_aiyoshi_1981_a() -> BilevelProblem:
    x, y = cp.Variable(bounds=[0, 15]), cp.Variable(bounds=[0, 20])
    return BilevelProblem(
        cp.Minimize(x**2 + (y - 10) ** 2),
        [y <= x],
        Follower(cp.Minimize((x + 2 * y - 30) ** 2), [x + y <= 20], variables=[y]),
    )


@published(
    "Shimizu & Aiyoshi (1981), A new computational method for Stackelberg and min-max problems by "
    "use of a penalty method, IEEE Trans. Autom. Control 26, 460-466, Example 2",
    optimistic=225.0,
)
def shimizu_aiyoshi_1981_b() -> BilevelProblem:
    x, y = cp.Variable(2, nonneg=True), cp.Variable(2, bounds=[0, 10])
    outer = (x[0] - 30) ** 2 + (x[1] - 20) ** 2 - 20 * y[0] + 20 * y[1]
    rows = [x[0] + 2 * x[1] >= 30, cp.sum(x) <= 25, x[1] <= 15]
    return BilevelProblem(
        cp.Minimize(outer), rows, Follower(cp.Minimize(cp.sum_squares(x - y)), [], variables=[y])
    )


@published(
    "Aiyoshi & Shimizu (1984), A solution method for the static constrained Stackelberg problem "
    "via penalty method, IEEE Trans. Autom. Control 29, 1111-1114, Example 2",
    optimistic=0.0,
)
def aiyoshi_shimizu_1984() -> BilevelProblem:
    x, y = cp.Variable(2, bounds=[0, 50]), cp.Variable(2, bounds=[-10, 20])
    outer = 2 * cp.sum(x) - 3 * cp.sum(y) - 60
    inner = Follower(cp.Minimize(cp.sum_squares(y - x + 20)), [2 * y - x <= -10], variables=[y])
    return BilevelProblem(cp.Minimize(outer), [cp.sum(x) + y[0] - 2 * y[1] <= 40], inner)


@published(
    "Bard (1988), Convex two-level optimization, Mathematical Programming 40, 15-27, Example 1: "
    "the leader sets a price in the follower's quadratic objective",
    optimistic=17.0,
)
def bard_1988_a() -> BilevelProblem:
    x, y = _pair()
    rows = [y - 3 * x <= -3, x - y / 2 <= 4, x + y <= 7]
    inner = cp.Minimize((y - 1) ** 2 - 1.5 * x * y)
    return BilevelProblem(
        cp.Minimize((x - 5) ** 2 + (2 * y + 1) ** 2), [], Follower(inner, rows, variables=[y])
    )


@published(
    "Bard (1988), Convex two-level optimization, Mathematical Programming 40, 15-27, Example 2: "
    "two independent followers",
    optimistic=-6600.0,
)
def bard_1988_b() -> BilevelProblem:
    x = cp.Variable(4, nonneg=True)
    first, second = cp.Variable(2, bounds=[0, 20]), cp.Variable(2, bounds=[0, 40])
    use = np.array([[0.4, 0.7], [0.6, 0.3]])
    total = first + second
    outer = cp.sum_squares(total) - 200 * total[0] - 160 * total[1]
    rows = [cp.sum(x) <= 40, x <= np.array([10, 5, 15, 20])]
    return BilevelProblem(
        cp.Minimize(outer),
        rows,
        [
            Follower(
                cp.Minimize(cp.sum_squares(first - np.array([4, 13]))),
                [use @ first <= x[:2]],
                variables=[first],
            ),
            Follower(
                cp.Minimize(cp.sum_squares(second - np.array([35, 2]))),
                [use @ second <= x[2:]],
                variables=[second],
            ),
        ],
    )


@published(
    "Bard (1991), Some properties of the bilevel programming problem, J. Optim. Theory Appl. 68, "
    "371-378, Example 2.1: a price in a linear inner objective. At x = 2 the follower does not "
    "care; to every x > 2 it answers (x + 4, 0)",
    optimistic=2.0,
    pessimistic=2.0,
    unattained=True,
)
def bard_1991_price() -> BilevelProblem:
    x, y = cp.Variable(bounds=[2, 4]), cp.Variable(2, bounds=[0, 10])
    inner = cp.Minimize(2 * y[0] + x * y[1])
    return BilevelProblem(
        cp.Minimize(x + y[1]), [], Follower(inner, [cp.sum(y) >= x + 4], variables=[y])
    )


@published(
    "Bard (1998), Practical Bilevel Optimization, Kluwer, Example 7.2.1, sign as in BASBLib",
    optimistic=0.0,
)
def bard_1998_721() -> BilevelProblem:
    x, y = cp.Variable(2, bounds=[0, 1]), cp.Variable(bounds=[0, 1])
    outer = 0.5 * cp.sum_squares(x - np.array([0.8, 0.2])) + 0.5 * (y - 1) ** 2
    inner = 0.5 * y**2 - y - x[0] * y + 2 * x[1] * y
    return BilevelProblem(cp.Minimize(outer), [], Follower(cp.Minimize(inner), [], variables=[y]))


# The multiplier of the bound on y is 450 at the optimum.
@published(
    "Bard (1998), Practical Bilevel Optimization, Kluwer, Example 8.1.3, with y ≥ 0",
    optimistic=1.0,
)
def bard_1998_813() -> BilevelProblem:
    x, y = cp.Variable(bounds=[-100, 100]), cp.Variable(bounds=[0, 100])
    inner = 0.5 * y**2 + 500 * y - 50 * x * y
    return BilevelProblem(
        cp.Minimize((x - 1) ** 2 + (y - 1) ** 2),
        [],
        Follower(cp.Minimize(inner), [], variables=[y]),
    )


@published(
    "Clark & Westerberg (1990), Bilevel programming for steady-state chemical process design - I, "
    "Computers & Chemical Engineering 14, 87-97, Section 3.2",
    optimistic=5.0,
)
def clark_westerberg_1990_a() -> BilevelProblem:
    x, y = cp.Variable(bounds=[0, 8]), cp.Variable(bounds=[0, 8])
    rows = [y - 2 * x <= 1, x - 2 * y <= -2, x + 2 * y <= 14]
    return BilevelProblem(
        cp.Minimize((x - 3) ** 2 + (y - 2) ** 2),
        [],
        Follower(cp.Minimize((y - 5) ** 2), rows, variables=[y]),
    )


@published(
    "Sahin & Ciric (1998), A dual temperature simulated annealing approach for solving bilevel "
    "programming problems, Computers & Chemical Engineering 23, 11-25, Example 3: the same, the "
    "constraints the leader's",
    optimistic=9.0,
    doubtful=True,
)
def sahin_ciric_1998() -> BilevelProblem:
    x, y = cp.Variable(bounds=[0, 8]), cp.Variable(bounds=[0, 10])
    rows = [y - 2 * x <= 1, x - 2 * y <= -2, x + 2 * y <= 14]
    return BilevelProblem(
        cp.Minimize((x - 3) ** 2 + (y - 2) ** 2),
        rows,
        Follower(cp.Minimize((y - 5) ** 2), [], variables=[y]),
    )


@published(
    "De Silva (1978), Sensitivity formulas for nonlinear factorable programming, PhD thesis, "
    "George Washington University",
    optimistic=-1.0,
    doubtful=True,
)
def de_silva_1978() -> BilevelProblem:
    return _nearest(2.0)


@published(
    "Falk & Liu (1995), On bilevel programming, Part I: general nonlinear cases, Mathematical "
    "Programming 70, 47-72, second example",
    optimistic=-2.25,
)
def falk_liu_1995() -> BilevelProblem:
    return _nearest(3.0)


def _nearest(slope: float) -> BilevelProblem:
    x, y = cp.Variable(2, nonneg=True), cp.Variable(2, bounds=[0.5, 1.5])
    outer = cp.sum_squares(x) - slope * cp.sum(x) + cp.sum_squares(y)
    return BilevelProblem(
        cp.Minimize(outer), [], Follower(cp.Minimize(cp.sum_squares(y - x)), [], variables=[y])
    )


@published(
    "Tuy, Migdalas & Hoai-Phuong (2007), A novel approach to bilevel nonlinear programming, J. "
    "Global Optimization 38, 527-554, Example 1",
    optimistic=22.5,
)
def tuy_2007() -> BilevelProblem:
    x, y = _pair()
    rows = [3 * x + y <= 15, x + y <= 7, x + 3 * y <= 15]
    return BilevelProblem(
        cp.Minimize(x**2 + y**2), [], Follower(cp.Maximize(y), rows, variables=[y])
    )


# The source rounds to −2.0769.
@published(
    "Muu & Quy (2003), A global optimization method for solving convex quadratic bilevel "
    "programming problems, J. Global Optimization 26, 199-219, Example 1",
    optimistic=-27 / 13,
)
def muu_quy_2003() -> BilevelProblem:
    x, y = cp.Variable(bounds=[0, 2]), cp.Variable(2, nonneg=True)
    outer = x**2 - 4 * x + cp.sum_squares(y)
    curvature = np.array([[2.0, 1.0], [1.0, 1.0]])
    inner = 0.5 * cp.quad_form(y, curvature) + y[0] - 3 * x * y[0] + y[1] + x * y[1]
    return BilevelProblem(
        cp.Minimize(outer),
        [],
        Follower(cp.Minimize(inner), [2 * y[0] + y[1] - 2 * x <= 1], variables=[y]),
    )


@published(
    "Lampariello & Sagratella (2017), A bridge between bilevel programs and Nash games, J. Optim. "
    "Theory Appl. 174, 613-635, Example 3.1; the response is unique",
    optimistic=1.0,
)
def lampariello_sagratella_2017_31() -> BilevelProblem:
    x, y = cp.Variable(), cp.Variable()
    return BilevelProblem(
        cp.Minimize(x**2 + y**2), [x >= 1], Follower(cp.Minimize(y), [x + y >= 1], variables=[y])
    )


@published(
    "Lampariello & Sagratella (2017), A bridge between bilevel programs and Nash games, J. Optim. "
    "Theory Appl. 174, 613-635, Example 3.5",
    optimistic=0.8,
)
def lampariello_sagratella_2017_35() -> BilevelProblem:
    x, y = cp.Variable(bounds=[-1, 1]), cp.Variable(bounds=[0, 1])
    return BilevelProblem(
        cp.Minimize(x**2 + y**2), [], Follower(cp.Maximize(y), [2 * x + y <= 2], variables=[y])
    )


@published(
    "Hatz, Leyffer, Schlöder & Bock (2013), Regularizing bilevel nonlinear programs by lifting, "
    "Argonne National Laboratory, ANL/MCS-P4076-0613",
    optimistic=0.0,
    doubtful=True,
)
def hatz_2013() -> BilevelProblem:
    x, y = cp.Variable(), cp.Variable(2, nonneg=True)
    inner = (x - y[0]) ** 2 + y[1] ** 2
    return BilevelProblem(
        cp.Minimize(-x + 2 * y[0] + y[1]), [], Follower(cp.Minimize(inner), [], variables=[y])
    )


# ------------------------------------------------------------------------------------------------
# Prices, and the pessimistic view


@published(
    "Lucchetti, Mignanego & Pieri (1987), Existence theorems of equilibrium points in Stackelberg "
    "games with constraints, Optimization 18, 857-866, Example 4.1: at x = 1 the follower does not "
    "care; the best guarantee is at x = 0",
    optimistic=0.0,
    pessimistic=0.5,
)
def lucchetti_1987() -> BilevelProblem:
    x, y = cp.Variable(bounds=[0, 1]), cp.Variable(bounds=[0, 1])
    return BilevelProblem(
        cp.Minimize(0.5 * (1 - x) + x * y), [], Follower(cp.Minimize(x * y - y), [], variables=[y])
    )


@published(
    "Morgan & Patrone (2006), Stackelberg problems: subgame perfect equilibria via Tikhonov "
    "regularization, Annals of the Int. Society of Dynamic Games 8, 209-221: at x = 0 the follower "
    "does not care, and just below it answers 1",
    optimistic=-1.0,
    pessimistic=-1.0,
    unattained=True,
)
def morgan_patrone_2006() -> BilevelProblem:
    x, y = cp.Variable(bounds=[-0.5, 0.5]), cp.Variable(bounds=[-1, 1])
    return BilevelProblem(cp.Minimize(-x - y), [], Follower(cp.Minimize(x * y), [], variables=[y]))


@published(
    "Yezza (1996), First-order necessary optimality conditions for general bilevel programming "
    "problems, J. Optim. Theory Appl. 89, 189-219, Example 3.1: at x = 1/4 the follower does not "
    "care, and just above it answers 0",
    optimistic=1.5,
    pessimistic=1.5,
    unattained=True,
)
def yezza_1996() -> BilevelProblem:
    x, y = cp.Variable(bounds=[0, 1]), cp.Variable(bounds=[0, 1])
    outer = -4 * x * y + 3 * y + 2 * x + 1
    inner = 4 * x * y - y - 2 * x - 2
    return BilevelProblem(cp.Minimize(outer), [], Follower(cp.Minimize(inner), [], variables=[y]))


@published(
    "Dempe, Mordukhovich & Zemkoho (2012), Sensitivity analysis for two-level value functions with "
    "applications to bilevel programming, SIAM J. Optim. 22, 1309-1343: the leader does not care "
    "about the response",
    optimistic=-1.0,
    pessimistic=-1.0,
)
def dempe_2012() -> BilevelProblem:
    x, y = cp.Variable(bounds=[-1, 1]), cp.Variable(bounds=[0, 1])
    return BilevelProblem(cp.Minimize(x), [], Follower(cp.Minimize(x * y), [], variables=[y]))


@published(
    "Zeng (2020), A practical scheme to compute the pessimistic bilevel optimization problem, "
    "INFORMS J. Computing 32, 1128-1142, linear example; values by enumeration",
    optimistic=-252.0,
    pessimistic=-80.0,
    doubtful=True,
)
def zeng_2020() -> BilevelProblem:
    x, y = cp.Variable(2, nonneg=True), cp.Variable(4, nonneg=True)
    outer = np.array([-8, -6]) @ x + np.array([-25, -30, 2, 16]) @ y
    rows = [
        cp.sum(y) <= 10 - cp.sum(x),
        y[3] - y[0] <= 0.8 * cp.sum(x),
        y[1] + y[3] <= 4 * x[1],
    ]
    return BilevelProblem(
        cp.Minimize(outer),
        [cp.sum(x) <= 10],
        Follower(cp.Maximize(10 * cp.sum(y)), rows, variables=[y]),
    )


@published(
    "Besançon, Anjos & Brotcorne (2019), Near-optimal robust bilevel optimization, "
    "arXiv:1908.04040, Example 2.7, with δ = 1/2: an outer constraint that must hold for every "
    "response within δ of the best moves the optimum from 0 to 5 δ",
    optimistic=0.0,
    pessimistic=2.5,
    delta=0.5,
)
def besancon_2019() -> BilevelProblem:
    x, y = cp.Variable(nonneg=True), cp.Variable()
    return BilevelProblem(
        cp.Minimize(x),
        [y >= 1 - x / 10],
        Follower(cp.Maximize(y), [y <= 1 + x / 10], variables=[y]),
    )


# ------------------------------------------------------------------------------------------------
# Interdiction: the leader hurts the follower, so both views have the same value


def _network(arcs: dict[tuple[int, int], float], source: int, sink: int) -> Any:
    """Return the matrix of flow conservation at every node but source and sink."""
    nodes = sorted({node for arc in arcs for node in arc} - {source, sink})
    return np.array([[float(j == n) - float(i == n) for i, j in arcs] for n in nodes])


# The report gives the network; values by enumeration of all pairs of arcs.
@published(
    "Hart, Chen, Siirola & Watson (2016), Modeling bilevel programs in Pyomo, Sandia National "
    "Laboratories, SAND2016-0755: maximum flow, of which two arcs are taken away (Wood, 1993, "
    "Deterministic network interdiction, Mathematical and Computer Modelling 17, 1-18)",
    optimistic=1.0,
    pessimistic=1.0,
    doubtful=True,
)
def flow_interdiction() -> BilevelProblem:
    arcs = {(0, 1): 2.0, (0, 2): 6.0, (0, 3): 4.0, (0, 4): 2.0, (1, 5): 3.0, (2, 1): 2.0,
            (2, 3): 2.0, (3, 4): 2.0, (4, 5): 1.0, (3, 5): 5.0}  # fmt: skip
    cut, flow = cp.Variable(len(arcs), boolean=True), cp.Variable(len(arcs), nonneg=True)
    sent = cp.sum(flow[[k for k, (i, _) in enumerate(arcs) if i == 0]])
    rows = [
        _network(arcs, 0, 5) @ flow == 0,
        flow <= cp.multiply(np.array(list(arcs.values())), 1 - cut),
    ]
    return BilevelProblem(
        cp.Minimize(sent), [cp.sum(cut) <= 2], Follower(cp.Maximize(sent), rows, variables=[flow])
    )


# Data of our own, on the smallest network with a choice; value by enumeration of all pairs of arcs.
@published(
    "Israeli & Wood (2002), Shortest-path network interdiction, Networks 40, 97-111: the leader "
    "lengthens two arcs, the follower takes the shortest path; the problem is theirs, the network "
    "is not",
    optimistic=8.0,
    pessimistic=8.0,
    doubtful=True,
)
def path_interdiction() -> BilevelProblem:
    arcs = {(0, 1): 1.0, (0, 2): 2.0, (1, 2): 1.0, (1, 3): 4.0, (2, 3): 2.0, (2, 4): 5.0,
            (3, 4): 1.0}  # fmt: skip
    longer = np.array([2.0, 2.0, 3.0, 1.0, 4.0, 2.0, 3.0])
    taken, flow = cp.Variable(len(arcs), boolean=True), cp.Variable(len(arcs), nonneg=True)
    length = (np.array(list(arcs.values())) + cp.multiply(longer, taken)) @ flow
    leave = [k for k, (i, _) in enumerate(arcs) if i == 0]
    rows = [_network(arcs, 0, 4) @ flow == 0, cp.sum(flow[leave]) == 1]
    return BilevelProblem(
        cp.Maximize(length),
        [cp.sum(taken) <= 2],
        Follower(cp.Minimize(length), rows, variables=[flow]),
    )


# Data of our own: Dantzig's rule fills the knapsack by value per weight; by enumeration.
@published(
    "Carvalho, Lodi & Marcotte (2018), A polynomial algorithm for a continuous bilevel knapsack "
    "problem, Operations Research Letters 46, 185-188: the leader fills a knapsack of its own with "
    "items, or parts of them, that the follower then lacks; the problem is theirs, the items are "
    "not",
    optimistic=6.0,
    pessimistic=6.0,
    doubtful=True,
)
def knapsack_interdiction() -> BilevelProblem:
    value, weight = np.array([6.0, 5.0, 3.0, 2.0]), np.array([3.0, 2.0, 2.0, 2.0])
    size = np.array([2.0, 3.0, 1.0, 1.0])
    taken, packed = cp.Variable(4, bounds=[0, 1]), cp.Variable(4, nonneg=True)
    rows = [weight @ packed <= 4, packed <= 1 - taken]
    inner = Follower(cp.Maximize(value @ packed), rows, variables=[packed])
    return BilevelProblem(cp.Minimize(value @ packed), [size @ taken <= 3.5], inner)
