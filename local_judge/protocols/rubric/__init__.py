"""Any rubric file as a protocol."""

from local_judge.protocols.rubric.protocol import RubricProtocol

__all__ = ["RubricProtocol"]
