"""ProgressTracker: events of workers, finished shards, and the text of the bar."""

import attrs
import pytest

from sitemap_reader.client import BarState
from sitemap_reader.scale import HarvestProgress, ProgressTracker, ShardProgress, bar_state


def reported(shard, worker="a", **counts):
    return {"shard": shard, "worker": worker, **attrs.asdict(ShardProgress(**counts))}


def manifest(shard, hosts, urls, **verdicts):
    return {"shard": shard, "hosts": hosts, "urls": urls, "bytes_wire": 10 * urls, "verdicts": verdicts}


def counts(tracker):
    progress = tracker.now(2)
    return progress.hosts_done, progress.urls, progress.not_whole, progress.shards_done


def test_shards_that_run_and_those_that_are_done_are_counted_once():
    tracker = ProgressTracker(10, 3, [], "")
    tracker.update(reported(0, hosts=1, urls=5))
    tracker.update(reported(1, hosts=2, urls=7, not_whole=1))
    tracker.update(reported(0, hosts=2, urls=9, bytes_wire=3))
    assert counts(tracker) == (4, 16, 1, 0)
    tracker.done(manifest(0, 3, 12, complete=2, partial=1))
    assert counts(tracker) == (5, 19, 2, 1)
    tracker.update(reported(0, hosts=1, urls=5))  # a late event
    assert counts(tracker) == (5, 19, 2, 1)
    assert tracker.now(2).bytes_wire == 120


def test_a_shard_that_failed_counts_for_nothing():
    tracker = ProgressTracker(10, 3, [], "")
    tracker.update(reported(0, hosts=3, urls=5))
    tracker.failed(0)
    tracker.update(reported(0, hosts=4, urls=6))
    assert counts(tracker) == (0, 0, 0, 0)


def test_restarted_shard_is_counted():
    tracker = ProgressTracker(10, 3, [], "")
    for worker in ("a", "a", "b", "b", "c"):
        tracker.update(reported(1, worker, hosts=1))
    tracker.update(reported(2, "a"))
    assert tracker.restarts == {1: 2}
    assert counts(tracker)[0] == 1


def test_remaining_time_is_estimated_from_this_run(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    tracker = ProgressTracker(100, 4, [manifest(0, 60, 600, complete=60)], "http://127.0.0.1:8787/status")
    clock[0] = 110.0
    assert tracker.now(4).eta_seconds is None
    tracker.update(reported(1, hosts=10))
    now = tracker.now(4)
    assert (now.hosts_done, now.seconds, now.eta_seconds) == (70, 10.0, 30.0)
    assert (now.shards, now.shards_at_once, now.dashboard) == (4, 4, "http://127.0.0.1:8787/status")


@pytest.mark.parametrize(("not_whole", "eta", "text"), [
    (0, None, "1,204,331 URLs, 88.1 MB"),
    (3, None, "1,204,331 URLs, 88.1 MB, 3 not whole"),
    (0, 58.2, "1,204,331 URLs, 88.1 MB, 00:58 left"),
    (1_000, 59.6, "1,204,331 URLs, 88.1 MB, 1,000 not whole, 01:00 left"),
    (0, 7_390.0, "1,204,331 URLs, 88.1 MB, 2:03:10 left"),
    (0, 0.0, "1,204,331 URLs, 88.1 MB, 00:00 left"),
])
def test_text_of_the_bar(not_whole, eta, text):
    progress = HarvestProgress(312, 1_000, 1_204_331, 88_100_000, not_whole, 3, 9, 4, "", 41.0, eta)
    assert bar_state(progress) == BarState(312, 1_000, text)
