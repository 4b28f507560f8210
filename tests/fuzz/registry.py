"""All fuzz targets, by name."""

from __future__ import annotations

from tests.fuzz import addresses, archives, replies, reports, servers, settings, stored
from tests.fuzz.target import Target

TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        reports.TARGET,
        replies.TARGET,
        *servers.TARGETS,
        *settings.TARGETS,
        *addresses.TARGETS,
        *archives.TARGETS,
        *stored.TARGETS,
    )
}
