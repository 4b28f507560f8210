"""The reliability diagram in the terminal."""

from __future__ import annotations

from local_judge.lab.calibration_tables import WIDTH, bar, reliability_table
from local_judge.stats.calibration.measures import Judged, bins

CLAIMS = [Judged(true, p, "a") for p, true in ((0.12, False), (0.18, True), (0.9, True), (1.0, True))]


def test_a_bar_is_as_long_as_the_share_and_marks_the_mean() -> None:
    # Half of 30 places, and the mean at 0.15 x 30 = 4.5: place 4
    assert bar(0.5, 0.15) == "████│" + "█" * 10 + "·" * 15
    assert bar(0.0, 1.0) == "·" * (WIDTH - 1) + "│"


def test_every_bin_has_its_line() -> None:
    table = reliability_table("reliability", bins(CLAIMS))
    assert table.row_count == 10
    cells = [list(column.cells) for column in table.columns]
    assert cells[1] == ["0", "2", "0", "0", "0", "0", "0", "0", "0", "2"]
    assert (cells[2][1], cells[3][1], cells[4][1]) == ("0.150", "0.500", "0.09–0.91")
