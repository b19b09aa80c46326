"""Files are read as they stand, or refused with a reason."""

from pathlib import Path

import pandas as pd
import pytest

from pessimal.errors import InvalidInputError
from pessimal.tabular import read_source, with_labels


def written(folder: Path, content: str | bytes, name: str = "data.csv") -> str:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


@pytest.mark.parametrize(
    "content",
    [
        "a,kind\n1,x\n2,y\n",
        "a;kind\n1;x\n2;y\n",
        "a\tkind\r\n1\tx\r\n2\ty\r\n",
        "\ufeffa, kind\n1, x\n2, y\n",
    ],
)
def test_csv_is_read_whatever_separates_its_cells(tmp_path: Path, content: str) -> None:
    frame = read_source(written(tmp_path, content)).frame
    assert frame.to_dict("list") == {"a": [1, 2], "kind": ["x", "y"]}


def test_parquet_is_the_same_table_as_csv(tmp_path: Path) -> None:
    frame = pd.DataFrame({"blood pressure": [1.5, 2.5], "kind": ["x", "y"]})
    frame.to_parquet(tmp_path / "data.parquet")
    frame.to_csv(tmp_path / "data.csv", index=False)
    tables = [read_source(str(tmp_path / f"data.{suffix}")).frame for suffix in ("parquet", "csv")]
    assert tables[0].to_dict("list") == tables[1].to_dict("list") == frame.to_dict("list")


@pytest.mark.parametrize(
    ("name", "shape", "classes"),
    [
        ("cancer", (449, 10), {"benign": 213, "malignant": 236}),
        ("diabetes", (768, 9), {"negative": 500, "positive": 268}),
    ],
)
def test_the_embedded_data_carry_their_classes_in_words(
    name: str, shape: tuple[int, int], classes: dict[str, int]
) -> None:
    source = read_source(name)
    assert source.target == "class"
    assert source.frame.shape == shape
    assert source.frame["class"].value_counts().to_dict() == classes


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "has no header"),
        ("\n\n", "has no header"),
        ("a,b\n", "has no rows"),
        ("a,b,a\n1,2,3\n", "more than one column called 'a'"),
        ("a,b\n1,2,3\n4,5,6\n", "more cells than its header"),
        ("a,b\n1,2\n3,4,5\n", "cannot be read as CSV"),
        ('a,b\n1,"2\n', "cannot be read as CSV"),
        (b"a,b\n\xff\xfe,1\n", "not in UTF-8; save it as UTF-8"),
        ("größe,b\n1,2\n".encode("latin-1"), "not in UTF-8; save it as UTF-8"),
        ("größe,b\n1,2\n".encode("utf-16"), "not in UTF-8; save it as UTF-8"),
        (b"PK\x03\x04\x00\x00", "cannot be read as CSV|has no rows"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        read_source(written(tmp_path, content))


def test_a_broken_parquet_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="is not a Parquet file"):
        read_source(written(tmp_path, b"PAR1 nonsense PAR1", "data.parquet"))


def test_a_missing_file_or_a_folder_is_refused_by_name(tmp_path: Path) -> None:
    for name in (str(tmp_path), str(tmp_path / "nowhere.csv")):
        with pytest.raises(InvalidInputError, match=r"cannot be read .*; pass the path of a CSV"):
            read_source(name)


def test_a_question_mark_is_a_missing_cell_and_that_is_said(tmp_path: Path) -> None:
    path = tmp_path / "uci.csv"
    path.write_text("dose,pet,y\n1.5,dog,0\n?,?,1\n2, ? ,?\n3,why?,1\n", "utf-8")
    source = read_source(str(path))
    assert source.frame["dose"].isna().tolist() == [False, True, False, False]
    assert source.frame["pet"].dropna().tolist() == ["dog", "why?"]
    assert source.frame["y"].dropna().tolist() == [0, 1, 1]
    assert source.notes == (
        "Cells with a ? in 'dose', taken as missing: 1.",
        "Cells with a ? in 'pet', taken as missing: 2.",
        "Cells with a ? in 'y', taken as missing: 1.",
    )
    assert with_labels(source, "y").notes[:3] == source.notes
