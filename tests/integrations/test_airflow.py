"""The DAG of docs/integrations.md, run by Airflow, which .ci/run installs for this test only."""

from pathlib import Path

import pytest
from docs_runs import Runner, blocks, found
from docs_site import DocsSite

pytestmark = pytest.mark.slow

PAGE = "docs/integrations.md"
NAME = "sitemaps_dag.py"


@pytest.mark.skipif(found("airflow") is None, reason="Airflow is not installed; .ci/run does that")
def test_dag_reports_the_changes_of_each_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (block,) = (block for block in blocks(PAGE) if block.name == NAME)
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path / "airflow"))
    monkeypatch.setenv("AIRFLOW__CORE__LOAD_EXAMPLES", "False")
    monkeypatch.setenv("AIRFLOW__CORE__DAGS_FOLDER", str(tmp_path / "desk"))
    with DocsSite(tmp_path) as site:
        desk = Runner(tmp_path, site)
        dag = desk.folder / NAME
        dag.write_text(block.text)

        def day() -> str:
            ran = desk.do("airflow", "dags", "test", "sitemaps", "-f", str(dag))
            assert ran.code == 0, ran.stdout + ran.stderr
            return (desk.folder / "example.com.jsonl").read_text()

        migrated = desk.do("airflow", "db", "migrate")
        assert migrated.code == 0, migrated.stdout + migrated.stderr
        first = day()
        site.next_day()
        second = day()
    assert first.count("\n") == first.count('"change":"new"') == 640
    changes = second.removeprefix(first).splitlines()
    assert sorted(line.split('"change":')[1].split(",")[0] for line in changes) == ['"new"', '"removed"', '"updated"']
