"""The report of a bulk job about its workers adds up."""

from deploy.ray.shifts import Shifts


def test_each_batch_counts_once_and_shares_are_of_the_whole_time() -> None:
    shifts = Shifts()
    for worker, began, ended, processor, lines in [
        ("one:1", 100.0, 104.0, 3.0, 3),
        ("one:1", 104.0, 110.0, 6.0, 2),
        ("one:2", 101.0, 106.0, 5.0, 4),
    ]:
        for _ in range(lines):
            shifts.add_line({"worker": worker, "began": began, "ended": ended, "processor": processor})
    assert shifts.report() == {
        "working_seconds": 10.0,
        "workers": [
            {"worker": "one:1", "lines": 5, "occupied_share": 1.0, "processor_seconds": 9.0, "processor_share": 0.9},
            {"worker": "one:2", "lines": 4, "occupied_share": 0.5, "processor_seconds": 5.0, "processor_share": 0.5},
        ],
    }
    assert shifts.as_text().splitlines()[1] == ("one:2: 4 lines, busy 50% of the time, 5.0 s of processor time (50%)")


def test_no_lines_no_workers() -> None:
    assert Shifts().report() == {"working_seconds": 0.0, "workers": []}
