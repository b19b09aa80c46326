"""Bilevel programs in MPS and AUX files: every dialect, both ways, and malformed files."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import highspy
import numpy as np
import pytest
from catalogue import CATALOGUE
from scipy.sparse import csr_array, random_array

from pessimal.bilevel import BilevelStatus, solve_program
from pessimal.bilevel.exchange import ExchangedProgram, read_pair, write_pair
from pessimal.bilevel.mps import LinearModel, mps_text, read_mps
from pessimal.bilevel.program import BilevelProgram, FollowerProgram, Rows
from pessimal.errors import InvalidInputError

# Moore & Bard (1990), Example 1, with a continuous follower.
MPS = """\
NAME moore
* the follower's rows come first, the objective last
ROWS
 L  R1
 L  R2
 L  R3
 L  R4
 N  COST
COLUMNS
    INT1      'MARKER'                 'INTORG'
    X         R1        -25   R2        1
    X         R3        2     R4        -2
    X         COST      -1
    INT1END   'MARKER'                 'INTEND'
    Y         R1        20    R2        2
    Y         R3        -1    R4        -10
    Y         COST      -10
RHS
    B         R1        30    R2        10
    B         R3        15
    B         R4        -15
BOUNDS
 UP BOUND     X         10
ENDATA
"""
BY_INDEX = "N 1\nM 4\nLC 1\nLR 0\nLR 1\nLR 2\nLR 3\nLO 1\nOS 1\n"
BY_NAME = "N 1\nM 4\nLC Y\nLR R1\nLR R2\nLR R3\nLR R4\nLO -1\nOS -1\n"
SECTIONS = """\
@NUMVARS
1
@NUMCONSTRS
4
@VARSBEGIN
Y 1
@VARSEND
@CONSTSBEGIN
R1
R2
R3
R4
@CONSTSEND
@NAME
moore 90
@MPS
moore.mps
"""
MIXED = "N 1\nM 4\nOS 1\n@VARSBEGIN\nY 1.\n@CONSTSBEGIN\nR1 R2\nR3\nR4"


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    mps, aux = tmp_path / "problem.mps", tmp_path / "problem.aux"
    mps.write_text(MPS)
    aux.write_text(BY_INDEX)
    return mps, aux


@pytest.mark.parametrize("aux_text", [BY_INDEX, BY_NAME, SECTIONS, MIXED])
def test_every_dialect_tells_the_same_program(pair: tuple[Path, Path], aux_text: str) -> None:
    pair[1].write_text(aux_text)
    read = read_pair(*pair)
    follower = read.program.followers[0]
    assert (read.outer, read.inner) == (("X",), ("Y",))
    assert len(read.program.rows) == 0
    assert follower.rows.outer.toarray().ravel().tolist() == [-25.0, 1.0, 2.0, -2.0]
    assert follower.rows.inner.toarray().ravel().tolist() == [20.0, 2.0, -1.0, -10.0]
    assert follower.rows.upper.tolist() == [30.0, 10.0, 15.0, -15.0]
    assert follower.cost.tolist() == [1.0]
    assert read.program.outer_cost.tolist() == [-1.0]
    assert read.program.inner_cost.tolist() == [-10.0]
    assert (read.program.lower.tolist(), read.program.upper.tolist()) == ([0.0], [10.0])
    assert (follower.lower.tolist(), follower.upper.tolist()) == ([0.0], [np.inf])
    assert read.program.integer.tolist() == [True]


def test_a_maximised_outer_objective_is_minimised_with_its_sign_changed(
    pair: tuple[Path, Path],
) -> None:
    pair[0].write_text(MPS.replace("ROWS\n", "OBJSENSE\n    MAX\nROWS\n"))
    read = read_pair(*pair)
    assert read.maximise
    assert read.program.outer_cost.tolist() == [1.0]
    assert read.program.followers[0].cost.tolist() == [1.0]  # the follower's sense is its own


def random_program(rng: np.random.Generator) -> ExchangedProgram:
    n, m, k, r = (int(rng.integers(1, 5)) for _ in range(4))

    def matrix(*shape: int) -> csr_array:
        return csr_array(random_array(shape, density=0.6, rng=rng))

    def limits(size: int) -> tuple[Any, Any]:
        low, width = rng.normal(size=size).round(3), rng.integers(0, 3, size)
        high = low + width
        kind = rng.integers(0, 4, size)
        return np.where(kind == 1, -np.inf, low), np.where(kind == 2, np.inf, high)

    follower = FollowerProgram(
        cost=rng.normal(size=m),
        price=csr_array((m, n)),
        curvature=csr_array((m, m)),
        rows=Rows(matrix(r, n), matrix(r, m), *limits(r)),
        lower=np.full(m, -np.inf),
        upper=rng.normal(size=m),
        columns=slice(0, m),
    )
    integer = rng.random(n) < 0.5
    low, high = limits(n)
    low, high = np.where(integer, np.floor(low), low), np.where(integer, np.ceil(high), high)
    program = BilevelProgram(
        outer_cost=rng.normal(size=n),
        inner_cost=rng.normal(size=m),
        outer_curvature=csr_array((n, n)),
        inner_curvature=csr_array((m, m)),
        price=csr_array((m, n)),
        constant=float(rng.normal()),
        rows=Rows(matrix(k, n), matrix(k, m), *limits(k)),
        lower=low,
        upper=high,
        integer=integer,
        followers=(follower,),
    )
    names = tuple(f"x{i}" for i in range(n)), tuple(f"y{i}" for i in range(m))
    return ExchangedProgram(program, *names, maximise=bool(rng.random() < 0.5), name="random one")


def same_rows(a: Rows, b: Rows) -> bool:
    return all(
        np.allclose(p, q, rtol=1e-15, atol=0.0)
        for p, q in [
            (a.outer.toarray(), b.outer.toarray()),
            (a.inner.toarray(), b.inner.toarray()),
            (a.lower, b.lower),
            (a.upper, b.upper),
        ]
    )


@pytest.mark.parametrize("dialect", ["names", "indices"])
def test_what_is_written_reads_back_unchanged(tmp_path: Path, dialect: Any) -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        written = random_program(rng)
        mps, aux = tmp_path / "a.mps", tmp_path / "a.aux"
        write_pair(written, mps, aux, dialect=dialect)
        read = read_pair(mps, aux)
        assert (read.outer, read.inner, read.name) == (written.outer, written.inner, written.name)
        assert read.maximise == written.maximise
        ours, theirs = written.program, read.program
        assert same_rows(ours.rows, theirs.rows)
        assert same_rows(ours.followers[0].rows, theirs.followers[0].rows)
        for part in ("outer_cost", "inner_cost", "lower", "upper", "integer", "constant"):
            assert np.array_equal(getattr(ours, part), getattr(theirs, part)), part
        for part in ("cost", "lower", "upper"):
            assert np.array_equal(
                getattr(ours.followers[0], part), getattr(theirs.followers[0], part)
            )


@pytest.mark.parametrize("dialect", ["names", "indices"])
def test_a_published_problem_has_the_same_optimum_in_files(tmp_path: Path, dialect: Any) -> None:
    published = next(p for p in CATALOGUE if p.name == "savard_1989")
    written = ExchangedProgram.of(published.build().program())
    files = tmp_path / "a.mps", tmp_path / "a.aux"
    write_pair(written, *files, dialect=dialect)
    solution = solve_program(read_pair(*files).program)
    assert solution.status is BilevelStatus.OPTIMAL
    assert solution.value == pytest.approx(published.optimistic)


def in_highs(path: Path) -> Any:
    new: Any = highspy.Highs
    highs = new()
    highs.setOptionValue("output_flag", False)
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    return highs


def test_highs_reads_what_is_written_here(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    path = tmp_path / "a.mps"
    for _ in range(10):
        write_pair(random_program(rng), path, tmp_path / "a.aux")
        ours, theirs = read_mps(path), in_highs(path).getLp()
        assert np.allclose(ours.lower, theirs.col_lower_)
        assert np.allclose(ours.upper, theirs.col_upper_)
        assert np.allclose(ours.row_lower, theirs.row_lower_)
        assert np.allclose(ours.row_upper, theirs.row_upper_)
        assert np.allclose(ours.cost, theirs.col_cost_)
        assert np.isclose(ours.constant, theirs.offset_)
        assert ours.maximise == (theirs.sense_ == highspy.ObjSense.kMaximize)
        kinds = list(theirs.integrality_) or [highspy.HighsVarType.kContinuous] * len(ours.columns)
        assert ours.integer.tolist() == [kind == highspy.HighsVarType.kInteger for kind in kinds]


def test_files_of_highs_are_read(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    for _ in range(10):
        first, second = tmp_path / "a.mps", tmp_path / "b.mps"
        write_pair(random_program(rng), first, tmp_path / "a.aux")
        in_highs(first).writeModel(str(second))
        ours, theirs = read_mps(first), read_mps(second)
        for part in ("lower", "upper", "row_lower", "row_upper", "cost", "integer"):
            assert np.allclose(getattr(ours, part), getattr(theirs, part)), part
        assert np.allclose(ours.A.toarray(), theirs.A.toarray())


RANGED = """\
NAME
ROWS
 N c
 E a
 E b
 L d
 G e
 N unused
COLUMNS
 x c 1 a 1
 x b 1 d 1
 x e 1 unused 3
RHS
 c -7 a 1
 b 2 d 3
 e 4
RANGES
 r a 5 b -5
 r d 5
 r e -5
BOUNDS
 MI x
 UP x -2
ENDATA
"""


def test_ranges_widen_a_row_to_the_side_that_the_format_says(tmp_path: Path) -> None:
    path = tmp_path / "a.mps"
    path.write_text(RANGED)
    model = read_mps(path)
    assert model.rows == ("a", "b", "d", "e")
    assert model.row_lower.tolist() == [1.0, -3.0, -2.0, 4.0]
    assert model.row_upper.tolist() == [6.0, 2.0, 3.0, 9.0]
    assert model.constant == 7.0
    assert (model.lower.tolist(), model.upper.tolist()) == ([-np.inf], [-2.0])


MPS_FAULTS = [
    ("ROWS", "ROW", 3, "section 'ROW'"),
    (" L  R2", " Q  R2", 5, "N, L, G, E"),
    (" L  R2", " L  R1", 5, "row 'R1' twice"),
    (" N  COST", " L  COST", 9, "no objective"),
    ("R1        -25", "R9        -25", 11, "no row 'R9'"),
    ("R3        2     R4", "R1        2     R4", 12, "two entries"),
    ("R3        2", "R3        2,5", 12, "'2,5' is not a number"),
    ("R3        2", "R3        nan", 12, "not a finite number"),
    ("R3        2", "R3        1_0", 12, "not a number"),
    ("'INTEND'", "'INTSTOP'", 14, "marker 'INTSTOP'"),
    ("    Y         COST      -10", "    X         COST      -10", 17, "again"),
    ("    Y         COST      -10", "    Y         COST", 17, "pairs"),
    ("B         R4        -15", "B         R3        -15", 21, "two right-hand sides"),
    (" UP BOUND     X         10", " SC BOUND     X         10", 23, "kind 'SC'"),
    (" UP BOUND     X         10", " UP BOUND     Z         10", 23, "no column 'Z'"),
    (" UP BOUND     X         10", " UP BOUND     X         -1", 23, "lower bound"),
    ("ENDATA\n", "", 23, "ENDATA"),
]


@pytest.mark.parametrize(("part", "instead", "line", "reason"), MPS_FAULTS)
def test_a_malformed_mps_file_is_refused_with_line_and_reason(
    pair: tuple[Path, Path], part: str, instead: str, line: int, reason: str
) -> None:
    assert part in MPS
    pair[0].write_text(MPS.replace(part, instead, 1))
    with pytest.raises(InvalidInputError) as refused:
        read_pair(*pair)
    assert f"problem.mps, line {line}: " in str(refused.value)
    assert reason in str(refused.value)


AUX_FAULTS = [
    ("", 1, "empty"),
    (BY_INDEX.replace("N 1", "N 2"), 1, "2 columns are announced and 1 given"),
    (BY_INDEX.replace("M 4", "M four"), 2, "not a count"),
    (BY_INDEX.replace("LC 1", "LC 2"), 3, "from 0"),
    (BY_INDEX.replace("LC 1", "LC 0"), 3, "is integer"),
    (BY_INDEX.replace("LR 1", "LR 0"), 5, "twice"),
    (BY_INDEX.replace("LO 1", "LO one"), 8, "not a number"),
    (BY_INDEX.replace("LO 1\n", ""), 8, "1 columns of the follower and 0 costs"),
    (BY_INDEX.replace("OS 1", "OS 2"), 9, "minimise"),
    (BY_INDEX.replace("OS 1", "OS"), 9, "may be cut"),
    (BY_INDEX + "IC 4\n", 10, "interdiction"),
    (BY_INDEX + "XX 4\n", 10, "unknown keyword"),
    (BY_NAME.replace("LC Y", "LC Z"), 3, "no column 'Z'"),
    (SECTIONS.replace("R3\n", "R7\n"), 11, "no row 'R7'"),
    (SECTIONS.replace("Y 1\n", "Y\n"), 7, "'@VARSEND' is not a number"),
    ("N 0\nM 0\n", 2, "no column"),
]


@pytest.mark.parametrize(("text", "line", "reason"), AUX_FAULTS)
def test_a_malformed_aux_file_is_refused_with_line_and_reason(
    pair: tuple[Path, Path], text: str, line: int, reason: str
) -> None:
    pair[1].write_text(text)
    with pytest.raises(InvalidInputError) as refused:
        read_pair(*pair)
    assert f"problem.aux, line {line}: " in str(refused.value)
    assert reason in str(refused.value)


def test_files_that_are_cut_or_scrambled_never_end_in_another_error(
    pair: tuple[Path, Path],
) -> None:
    rng = np.random.default_rng(3)
    for whole, path in ((MPS, pair[0]), (SECTIONS, pair[1])):
        for _ in range(150):
            words = whole.split(" ")
            i, j = rng.integers(0, len(words), 2)
            words[i], words[j] = words[j], words[i][: rng.integers(0, 3)]
            path.write_text(" ".join(words)[: rng.integers(1, len(whole))])
            try:
                read_pair(*pair)
            except InvalidInputError as refused:
                assert ", line " in str(refused)  # noqa: PT017
        path.write_text(whole)
    pair[0].write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInputError, match="UTF-8"):
        read_pair(*pair)
    with pytest.raises(InvalidInputError, match="cannot be read"):
        read_pair(pair[0].parent / "none.mps", pair[1])


def test_a_failed_write_leaves_the_file_as_it_was(
    pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    read = read_pair(*pair)

    def full(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match="no space left"):
        write_pair(read, *pair)
    assert pair[0].read_text() == MPS
    assert sorted(path.name for path in pair[0].parent.iterdir()) == ["problem.aux", "problem.mps"]


def test_what_the_files_cannot_hold_is_refused(pair: tuple[Path, Path]) -> None:
    read = read_pair(*pair)
    priced = replace(read.program, price=csr_array(np.ones((1, 1))))
    curved = replace(read.program, outer_curvature=csr_array(np.ones((1, 1))))
    two = replace(read.program, followers=read.program.followers * 2)
    follower = replace(read.program.followers[0], constant=1.0)
    shifted = replace(read.program, followers=(follower,))
    refused = {"products": priced, "quadratic": curved, "2 followers": two, "a constant": shifted}
    for reason, program in refused.items():
        with pytest.raises(InvalidInputError, match=reason):
            write_pair(replace(read, program=program), *pair)
    with pytest.raises(InvalidInputError, match="'a b' cannot be a name"):
        write_pair(replace(read, outer=("a b",)), *pair)


def test_a_free_row_is_left_out_and_an_empty_column_kept(tmp_path: Path) -> None:
    model = LinearModel(
        rows=("free", "objective"),
        columns=("x", "empty"),
        cost=np.array([0.1, 0.0]),
        constant=0.0,
        A=csr_array(np.array([[1.0, 0.0], [0.3, 0.0]])),
        row_lower=np.array([-np.inf, 1.0]),
        row_upper=np.array([np.inf, 1.0]),
        lower=np.zeros(2),
        upper=np.full(2, np.inf),
        integer=np.array([False, True]),
    )
    path = tmp_path / "a.mps"
    path.write_text(mps_text(model))
    read = read_mps(path)
    assert (read.rows, read.columns) == (("objective",), ("x", "empty"))
    assert read.cost.tolist() == [0.1, 0.0]
    assert read.upper.tolist() == [np.inf, np.inf]
