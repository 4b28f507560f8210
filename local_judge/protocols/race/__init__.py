"""RACE (DeepResearch Bench): reports compared with a reference report, by adaptive criteria."""

from local_judge.protocols.race.findings import RaceFindings
from local_judge.protocols.race.protocol import Race

__all__ = ["Race", "RaceFindings"]
