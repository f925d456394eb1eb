"""The CodeNet adapter: samples come out of web pages as people wrote them, and the last is not given away."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
from agnostics.types.errors import UsageError
from agnostics.types.task import LimitOverrides, Task, Test
from agnostics_datasets.codenet import CodeNet

ATCODER = """<span class="lang-en"><p>Score : <var>100</var> points</p><section>
<h3>Problem Statement</h3><p>Print <var>a &lt; b</var>.</p></section>
<h3>Sample Input 1</h3><pre>1 2
</pre><h3>Sample Output 1</h3><pre>Yes
</pre><p>It is.</p>
<h3>Sample Input 2</h3><pre>2 1
</pre><h3>Sample Output 2</h3><pre>No
</pre><p>It is not.</p></span>"""
AIZU = """<H1>Words</H1><p>Count the words.</p><H2>Sample Input</H2>
<pre>
a &amp; b<br />c
</pre>
<!-- <H2>Sample Input</H2><pre>hidden</pre> -->
<H2>Output for the Sample Input</H2>
<pre>
4
</pre>"""
JAPANESE = "<h3>問題文</h3><p>足せ。</p><h3>入力例 1</h3><pre>1 2</pre><h3>出力例 1</h3><pre>3</pre>"
LIST = "id,name,dataset,time_limit,memory_limit,rating,tags,complexity\np00001,Words,AIZU,1500,131072,,,\n"


def tasks(folder: Path, **pages: str) -> dict[str, Task]:
    (folder / "problem_descriptions").mkdir()
    for name, page in pages.items():
        (folder / "problem_descriptions" / f"{name}.html").write_text(page, encoding="utf-8")
    return {task.id: task for task in CodeNet().tasks("train", source=str(folder))}


def test_samples_become_tests_and_the_statement_ends_before_the_last(tmp_path: Path) -> None:
    (task,) = tasks(tmp_path, p02000=ATCODER).values()
    assert task.tests == (Test(input="1 2\n", output="Yes\n"), Test(input="2 1\n", output="No\n"))
    assert task.statement == (
        "Score : 100 points\n\nProblem Statement\n\nPrint a < b.\n\nSample Input 1\n\n1 2\n\n"
        "Sample Output 1\n\nYes\n\nIt is."
    )


def test_breaks_entities_and_comments_are_read_as_a_browser_does(tmp_path: Path) -> None:
    (task,) = tasks(tmp_path, p00001=AIZU).values()
    assert task.tests == (Test(input="a & b\nc\n", output="4\n"),)
    assert task.statement == "Words\n\nCount the words."


def test_japanese_headings_are_known(tmp_path: Path) -> None:
    (task,) = tasks(tmp_path, p03000=JAPANESE).values()
    assert task.tests == (Test(input="1 2", output="3"),)


def test_the_list_of_problems_has_the_limits_and_the_site(tmp_path: Path) -> None:
    (tmp_path / "metadata").mkdir()
    (tmp_path / "metadata" / "problem_list.csv").write_text(LIST)
    found = tasks(tmp_path, p00001=AIZU, p02000=ATCODER)
    assert found["codenet/p00001"].limits == LimitOverrides(run_s=1.5, memory_mb=128)
    assert (found["codenet/p00001"].tags, found["codenet/p02000"].limits) == (("AIZU",), LimitOverrides())


def test_a_broken_list_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "metadata").mkdir()
    (tmp_path / "metadata" / "problem_list.csv").write_text(LIST.replace("1500", "long"))
    with pytest.raises(UsageError, match=r"problem_list\.csv:2: time_limit: "):
        tasks(tmp_path, p00001=AIZU)


def test_pages_without_samples_or_with_several_right_outputs_are_left_out(tmp_path: Path) -> None:
    several = ATCODER.replace("Print", "If there are several answers, print any. Print")
    assert not tasks(tmp_path, p1="<h3>Input</h3><pre>1</pre>", p2="<h3>Sample Input</h3><pre>1</pre>", p3=several)


def test_an_archive_gives_the_same_tasks_as_the_folder(tmp_path: Path) -> None:
    expected = tasks(tmp_path, p00001=AIZU, p02000=ATCODER)
    with tarfile.open(tmp_path / "problem_descriptions.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "problem_descriptions", "problem_descriptions")
    found = CodeNet().tasks("train", source=str(tmp_path / "problem_descriptions.tar.gz"))
    assert {task.id: task for task in found} == expected


def test_what_holds_no_statements_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="needs its statements"):
        CodeNet().tasks("train")
    with pytest.raises(UsageError, match="no such file or folder"):
        CodeNet().tasks("train", source=str(tmp_path / "none"))
    with pytest.raises(UsageError, match=r"holds no problem_descriptions/\*\.html"):
        list(CodeNet().tasks("train", source=str(tmp_path)))
    (tmp_path / "x.tar.gz").write_bytes(b"no archive")
    with pytest.raises(UsageError, match="not an archive of statements"):
        list(CodeNet().tasks("train", source=str(tmp_path / "x.tar.gz")))
