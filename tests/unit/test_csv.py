"""The CSV adapter: rows are tests, and what is wrong with a row is said with its line."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest
from agnostics.plugins.manager import load_plugins
from agnostics.types.errors import UsageError
from agnostics.types.task import Test
from agnostics_datasets.csv_file import Csv

TABLE = 'id,statement,input,output\na,Add.,"1 2\n",3\na,,5 5,10\nb,"Say ""no"", please.",,no\n'


def written(folder: Path, text: str) -> str:
    path = folder / "tasks.csv"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_rows_of_one_id_are_the_tests_of_one_task(tmp_path: Path) -> None:
    first, second = Csv().tasks("train", source=written(tmp_path, TABLE))
    assert first.tests == (Test(input="1 2\n", output="3"), Test(input="5 5", output="10"))
    assert (first.statement, second.statement) == ("Add.", 'Say "no", please.')
    assert second.tests == (Test(input="", output="no"),)


def test_a_bare_path_finds_the_adapter_by_its_ending(tmp_path: Path) -> None:
    dataset, source = load_plugins().dataset(written(tmp_path, TABLE))
    assert (dataset.name, [task.id for task in dataset.tasks("train", source=source)]) == ("csv", ["a", "b"])


def test_every_column_is_read(tmp_path: Path) -> None:
    table = (
        "id,input,output,split,compare,difficulty,family,tags\na,1,1.5,train,floats,easy,halves,x y\nb,1,1,test,,,,\n"
    )
    (task,) = Csv().tasks("train", source=written(tmp_path, table))
    assert (task.compare.mode, task.difficulty, task.family, task.tags) == ("floats", "easy", "halves", ("x", "y"))
    (held_out,) = Csv().tasks("test", source=written(tmp_path, table))
    assert (held_out.id, held_out.compare.mode, held_out.family) == ("b", "tokens", None)


def test_what_a_spreadsheet_puts_before_its_first_column_is_no_part_of_it(tmp_path: Path) -> None:
    assert len(list(Csv().tasks("train", source=written(tmp_path, "\ufeff" + TABLE)))) == 2


def test_tasks_stream_before_the_file_is_read_to_its_end(tmp_path: Path) -> None:
    (task,) = islice(Csv().tasks("train", source=written(tmp_path, f"{TABLE}c,,1,1\nbroken\n")), 1)
    assert task.id == "a"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "holds no tasks"),
        ("id,input,output\n", "holds no tasks"),
        ("id,input,outptu\na,1,2\n", r":2: unknown column 'outptu'; did you mean 'output'"),
        ("id,input\na,1\n", ":2: the column 'output' is missing"),
        ("id,input,output\na,1\n", ":2: expected 3 cells"),
        ("id,input,output\na,1,2,3\n", ":2: expected 3 cells"),
        ("id,input,output\na,1,1\nb,1,1\na,1,1\n", ":4: the id 'a' came before"),
        ("id,input,output,compare\na,1,1,fuzzy\n", ":2: mode: Input should be 'tokens'"),
        ('id,input,output\na,"1,1\n', ": not a row of CSV"),
    ],
)
def test_a_bad_table_is_refused_with_its_file_and_line(text: str, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=rf"^\S*tasks\.csv.*{complaint}") as error:
        list(Csv().tasks("train", source=written(tmp_path, text)))
    assert "\n" not in str(error.value)


def test_an_unknown_split_a_missing_file_and_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown split 'tran'; did you mean 'train'"):
        list(Csv().tasks("tran", source=written(tmp_path, TABLE)))
    with pytest.raises(UsageError, match="no such file"):
        Csv().tasks("train", source=str(tmp_path / "none.csv"))
    with pytest.raises(UsageError, match="needs a file"):
        Csv().tasks("train")
