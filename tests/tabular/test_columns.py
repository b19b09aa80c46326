"""Columns become features by stated decisions, the same for later rows."""

import datetime
import decimal

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

from pessimal.errors import InvalidInputError
from pessimal.tabular import Column, ColumnEncoder, Source, make_column_encoder, with_labels
from pessimal.tabular.rows import complete_rows, draw_rows, require_both_classes


@pytest.mark.parametrize(
    ("cells", "features"),
    [
        ([1, 2, 3], [1.0, 2.0, 3.0]),
        ([True, False, True], [1.0, 0.0, 1.0]),
        ([True, None, False], [1.0, np.nan, 0.0]),
        (["1.5", " 2", "-3e2"], [1.5, 2.0, -300.0]),
        ([decimal.Decimal("0.5"), decimal.Decimal(2), None], [0.5, 2.0, np.nan]),
        (pd.array([1, None, 3], dtype="Int64"), [1.0, np.nan, 3.0]),
        (pd.array([True, None, False], dtype="boolean"), [1.0, np.nan, 0.0]),
        (pd.Categorical([3, 1, 2]), [3.0, 1.0, 2.0]),
        ([2**70, 1, 0], [2.0**70, 1.0, 0.0]),
    ],
)
def test_whatever_reads_as_a_number_is_one(cells: object, features: list[float]) -> None:
    frame = pd.DataFrame({"x": cells})
    encoder = make_column_encoder(frame, "drop", "refuse")
    assert encoder.notes == ()
    np.testing.assert_allclose(encoder.features(frame)["x"], features, rtol=1e-15)


@pytest.mark.parametrize(
    "dates",
    [
        ["2024-01-31", "2023-12-01", "1999-01-01"],
        ["31.1.2024", "1.12.2023", "1.1.1999"],
        ["1/31/24", "12/1/23", "1/1/99"],
        ["2024-01-31T10:00:00", None, "1999-01-01 00:00"],
        [datetime.date(2024, 1, 31), datetime.date(2023, 12, 1), None],
        pd.to_datetime(["2024-01-31", "2023-12-01", "1999-01-01"]),
        pd.to_timedelta([1, 2, 3], unit="D"),
    ],
)
def test_dates_are_left_out_with_a_word(dates: object) -> None:
    encoder = make_column_encoder(pd.DataFrame({"x": [1, 2, 3], "day": dates}), "drop", "refuse")
    assert encoder.feature_names == ("x",)
    assert encoder.notes[0].startswith("'day' holds dates and was left out")


def test_constant_and_empty_columns_are_left_out_with_a_word() -> None:
    frame = pd.DataFrame({"x": [1, 2], "one": [5, 5], "text": ["a", "a"], "none": [None, None]})
    encoder = make_column_encoder(frame, "drop", "refuse")
    assert encoder.feature_names == ("x",)
    assert [note.split()[0] for note in encoder.notes] == ["'one'", "'text'", "'none'"]


def test_text_is_refused_unless_asked_to_be_encoded() -> None:
    frame = pd.DataFrame({"pet": ["dog", "cat", "dog", None]})
    with pytest.raises(InvalidInputError, match=r"'pet' holds text such as 'dog'.*one-hot.*--drop"):
        make_column_encoder(frame, "drop", "refuse")
    encoder = make_column_encoder(frame, "drop", "one-hot")
    assert encoder.feature_names == ("pet = cat", "pet = dog")
    nan = np.nan
    expected = [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [nan, nan]]
    np.testing.assert_array_equal(encoder.features(frame).to_numpy(), expected)


def test_all_columns_that_cannot_be_used_are_named_at_once() -> None:
    frame = pd.DataFrame({"pet": ["dog", "cat"], "x": [1, 2], "dose": ["1,5", "2"]})
    with pytest.raises(InvalidInputError, match=r"'pet' holds text .*\. Other columns .*: 'dose'$"):
        make_column_encoder(frame, "drop", "refuse")


def test_numbers_with_a_few_texts_among_them_are_refused_with_the_cell() -> None:
    frame = pd.DataFrame({"dose": ["1.017", "unknown", "2", "3"]}, index=[1, 2, 3, 4])
    expected = (
        r"'dose' holds numbers, but 'unknown' in row 2 \(.*: 1 of 4\).*--missing drop or fill"
    )
    with pytest.raises(InvalidInputError, match=expected):
        make_column_encoder(frame, "drop", "refuse")


def test_text_with_too_many_values_is_refused() -> None:
    frame = pd.DataFrame({"name": [f"person {k}" for k in range(21)]})
    with pytest.raises(InvalidInputError, match="21 different texts, more than the 20"):
        make_column_encoder(frame, "drop", "one-hot")


def test_missing_cells_are_filled_on_request_by_median_and_most_frequent() -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0, 10.0, None], "pet": ["dog", "dog", "cat", None]})
    filled = make_column_encoder(frame, "fill", "one-hot").features(frame)
    assert filled.iloc[3].to_dict() == {"x": 2.0, "pet = cat": 0.0, "pet = dog": 1.0}


def test_filled_cells_are_counted_and_what_filled_them_is_said() -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0, 10.0, None], "z": [1, 2, 3, 4], "y": list("abab")})
    table = with_labels(Source("toy", frame), "y")
    encoder = make_column_encoder(table.columns, "fill", "refuse")
    rows = complete_rows(table, np.array([1, 2, 3]), encoder, "tune on")
    assert rows.notes == ("Missing cells of the 3 rows to tune on, filled: 1 in 'x' with 2.",)
    assert len(rows.y) == 3


def test_later_rows_go_the_way_of_the_first() -> None:
    encoder = ColumnEncoder((Column("x", fill=7.0), Column("pet", ("cat", "dog"))))
    later = pd.DataFrame({"pet": ["dog", "fish"], "new": [0, 0], "x": [None, 1.0]})
    features = encoder.features(later)
    assert features.iloc[0].to_dict() == {"x": 7.0, "pet = cat": 0.0, "pet = dog": 1.0}
    assert features.iloc[1].isna().tolist() == [False, True, True]  # no such pet when tuned


@pytest.mark.parametrize("seed", range(5))
def test_features_are_those_of_the_imputer_and_the_encoder_of_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.normal(size=41).round(1), "z": rng.integers(0, 9, 41)})
    frame = frame.assign(pet=rng.choice(["cat", "dog", "eel"], 41, p=[0.2, 0.5, 0.3]))
    frame = frame.mask(rng.random(frame.shape) < 0.2)
    pets = frame[["pet"]].fillna(frame["pet"].mode()[0])
    theirs = make_column_transformer(
        (SimpleImputer(strategy="median"), ["x", "z"]),
        (OneHotEncoder(sparse_output=False), ["pet"]),
    ).fit_transform(frame.assign(pet=pets))
    ours = make_column_encoder(frame, "fill", "one-hot").features(frame)
    np.testing.assert_array_equal(ours.to_numpy(), theirs)


def test_an_unknown_category_is_missing_where_scikit_learn_writes_zeros() -> None:
    later = pd.DataFrame({"pet": ["dog", "fish"]})
    encoder = OneHotEncoder(
        categories=[["cat", "dog"]], handle_unknown="ignore", sparse_output=False
    )
    assert encoder.fit_transform(later).tolist() == [[0.0, 1.0], [0.0, 0.0]]
    features = ColumnEncoder((Column("pet", ("cat", "dog")),)).features(later)
    assert features.iloc[0].tolist() == [0.0, 1.0]
    assert features.iloc[1].isna().all()


def test_a_table_without_rows_has_features_without_rows_where_scikit_learn_refuses() -> None:
    none = pd.DataFrame({"x": [1.0], "pet": ["dog"]}).head(0)
    with pytest.raises(ValueError, match="0 sample"):
        OneHotEncoder(categories=[["cat", "dog"]]).fit(none[["pet"]])
    encoder = ColumnEncoder((Column("x", fill=7.0), Column("pet", ("cat", "dog"), "cat")))
    features = encoder.features(none)
    assert features.shape == (0, 3)
    assert tuple(features.columns) == encoder.feature_names


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"y": [1.0]}, "the table has no column 'x'"),
        ({"x": [1.0, "abc"]}, "column 'x' holds 'abc' in row 1"),
        ({"x": [1.0, np.inf]}, "column 'x' holds 'inf' in row 1"),
    ],
)
def test_rows_that_do_not_fit_are_refused(frame: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        ColumnEncoder((Column("x"),)).features(pd.DataFrame(frame))


def test_a_table_without_a_usable_column_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="no column is left to learn from: 'x' has the"):
        make_column_encoder(pd.DataFrame({"x": [1, 1]}), "drop", "refuse")


@pytest.mark.parametrize(
    ("labels", "classes", "y"),
    [
        (["yes", "no", "yes"], ("no", "yes"), [1.0, -1.0, 1.0]),
        ([9, 10, None], (9, 10), [-1.0, 1.0]),
        ([True, False, True], (False, True), [1.0, -1.0, 1.0]),
        ([0.5, 1.5, 0.5], (0.5, 1.5), [-1.0, 1.0, -1.0]),
        (pd.to_datetime(["2024-01-01", "2023-01-01", None]), None, [1.0, -1.0]),
    ],
)
def test_labels_of_any_two_classes_are_read(
    labels: object, classes: tuple[object, object] | None, y: list[float]
) -> None:
    table = with_labels(Source("t", pd.DataFrame({"x": [1, 2, 3], "kind": labels})), "kind")
    assert table.y.tolist() == y
    assert classes in (None, table.classes)
    assert len(table.columns) == len(y)


@pytest.mark.parametrize(
    ("target", "drop", "message"),
    [
        (None, [], "target is not given; name the column .* 'x', 'kind', 'three'"),
        ("nope", [], "target is 'nope'; the columns are 'x', 'kind', 'three'"),
        ("kind", ["nope"], "drop is 'nope'; the columns are"),
        ("kind", ["kind"], "drop names 'kind', which is the target"),
        ("three", [], r"column 'three' holds 3 class\(es\)"),
    ],
)
def test_a_target_that_cannot_be_used_is_named(
    target: str | None, drop: list[str], message: str
) -> None:
    frame = pd.DataFrame({"x": [1, 2, 3], "kind": ["a", "b", "a"], "three": ["a", "b", "c"]})
    with pytest.raises(InvalidInputError, match=message):
        with_labels(Source("t", frame), target, drop)


def test_rows_are_drawn_by_class_and_incomplete_ones_counted() -> None:
    frame = pd.DataFrame({"x": np.arange(40.0), "kind": ["a", "b"] * 20})
    frame.loc[:3, "x"] = None
    table = with_labels(Source("t", frame), "kind")
    kept, aside = draw_rows(table, 0.25, seed=0)
    assert sorted([*kept, *aside]) == list(range(40))
    assert table.y[aside].sum() == 0.0
    rows = complete_rows(table, np.arange(40), ColumnEncoder((Column("x"),)), "tune on")
    assert rows.X.index.tolist() == list(range(5, 41))  # counted from 1, as in the file
    assert rows.notes == ("Rows to tune on with missing cells, left out: 4 of 40, most for 'x'.",)


@pytest.mark.parametrize(
    ("cell", "what"),
    [(None, "missing cells"), ("Oslo", "missing cells or unknown categories")],
)
def test_what_is_left_out_is_named_by_its_column(cell: str | None, what: str) -> None:
    frame = pd.DataFrame({"city": ["Rome", "Lima"] * 4, "kind": ["a", "a", "b", "b"] * 2})
    frame.loc[:2, "city"] = cell
    table = with_labels(Source("t", frame), "kind")
    encoder = ColumnEncoder((Column("city", ("Lima", "Rome")),))
    rows = complete_rows(table, np.arange(8), encoder, "tune on")
    assert rows.notes == (f"Rows to tune on with {what}, left out: 3 of 8, most for 'city'.",)


def test_numbers_whose_squares_overflow_are_refused_by_column_and_row() -> None:
    cells = [1.0, -1e300, 2.0, 3.0]
    table = with_labels(Source("toy", pd.DataFrame({"x": cells, "y": list("abab")})), "y")
    encoder = make_column_encoder(table.columns, "drop", "refuse")
    expected = r"column 'x' holds -1e\+300 in row 2, .*larger unit, .*--drop 'x'"
    with pytest.raises(InvalidInputError, match=expected):
        complete_rows(table, np.arange(4), encoder, "audit")


def test_too_few_rows_of_a_class_are_refused() -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "kind": ["a", "a", "b"]})
    table = with_labels(Source("t", frame), "kind")
    with pytest.raises(InvalidInputError, match="3 labelled rows cannot be split"):
        draw_rows(table, 0.5, seed=0)
    rows = complete_rows(table, np.arange(3), ColumnEncoder((Column("x"),)), "tune on")
    with pytest.raises(InvalidInputError, match=r"class 'b' has 1 complete row\(s\) to tune on"):
        require_both_classes(table, rows, "tune on")


def test_the_column_that_leaves_no_row_of_a_class_complete_is_named() -> None:
    frame = pd.DataFrame(
        {"x": range(6), "died in": [None, None, None, 70, 71, 72], "y": [0] * 3 + [1] * 3}
    )
    table = with_labels(Source("t", frame), "y")
    encoder = make_column_encoder(table.columns, "drop", "refuse")
    rows = complete_rows(table, np.arange(6), encoder, "tune on")
    with pytest.raises(InvalidInputError, match=r"class 0 has 0 complete .*--drop 'died in'"):
        require_both_classes(table, rows, "tune on")


def test_a_column_that_counts_the_rows_is_used_with_a_warning() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"id": range(100, 130), "age": rng.integers(20, 80, 30), "t": 0.5})
    frame["t"] = np.arange(30) + 0.25
    encoder = make_column_encoder(frame, "drop", "refuse")
    assert encoder.feature_names == ("id", "age", "t")
    [note] = encoder.notes
    assert note.startswith("'id' grows with every row")
    assert "--drop 'id'" in note


@pytest.mark.parametrize("commas", [["1,5", "-0,25", "2"], ["1,257.30", "12", "1,000,000"]])
def test_commas_in_numbers_are_named(commas: list[str]) -> None:
    frame = pd.DataFrame({"dose": commas})
    with pytest.raises(InvalidInputError, match=r"'dose' holds .* with commas.*of thousands"):
        make_column_encoder(frame, "drop", "refuse")


def test_spaces_around_a_label_do_not_make_a_class() -> None:
    frame = pd.DataFrame({"x": [1, 2, 3], "y": ["yes", "no", "yes "]})
    rows = with_labels(Source("toy", frame), "y")
    assert rows.classes == ("no", "yes")
    assert rows.y.tolist() == [1.0, -1.0, 1.0]
