"""Table of what flaws should do to scores."""

from __future__ import annotations

from local_judge.lab.qualification.probes import sensitivity_probes


def test_every_row_says_why_and_stands_once() -> None:
    rows = [
        (installed.protocol, one)
        for installed in sensitivity_probes().values()
        for one in installed.probe.expectations
    ]
    assert all(one.reason for _, one in rows)
    keys = [(protocol, one.path, one.flaw) for protocol, one in rows]
    assert len(set(keys)) == len(keys)
