"""What can go wrong, each as a function of a trial: everything that it chooses comes from the trial's seed."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Generator
from pathlib import Path

from .commands import NO_RESULT, Command
from .labelling import labels
from .process import Ended, Process
from .ray_sweeps import ray
from .received import received
from .searching import search_web
from .server import (
    BROKEN_BODY,
    BROKEN_CONTENT,
    BROKEN_PROBABILITIES,
    BROKEN_TRANSPORT,
    OTHER_MODEL,
    PAUSES,
    SIDE_FAULTS,
    SLOW,
    Faults,
    ModelServer,
)
from .trial import PAGES_UNDER_WAY, UNDER_WAY, Outcome, Trial

RUNS = ("run", "run scored")
FILE_COMMANDS = ("import", "merge", "index", "wacz", "export csv", "export deer", "rescore")


def kills(trial: Trial) -> None:
    """A command is killed one to three times, at random instants, and then left alone."""
    _kills(trial, *RUNS, *RUNS, "sweep", "sweep", "qualify", "fetch", "fetch", *FILE_COMMANDS)


def sweep(trial: Trial) -> None:
    """The same with a sweep, its shards and their merging."""
    _kills(trial, "sweep", "first shard", "second shard", "sweep merge", "sweep merge")


def bundle(trial: Trial) -> None:
    """The same with packing; the bundle is whole or not there."""
    _kills(trial, "bundle")
    audited = trial.run(("audit", "run.ljz"))
    if audited.state != "done":
        trial.violate(f"the bundle does not pass its audit: {audited.brief()}")


def _kills(trial: Trial, *names: str) -> None:
    command = trial.command(*names)
    lost: set[str] = set()
    stored_pages: list[str] = []
    for _ in range(trial.rng.randint(1, 3)):
        ended = _killed(trial, command)
        if ended != "killed":
            break
        lost |= trial.bench.server.in_flight(UNDER_WAY)
        stored_pages += trial.bench.site.sent[:-PAGES_UNDER_WAY]
        trial.bench.site.sent.clear()
    trial.ends_equal(command, lost)
    again = set(stored_pages) & set(trial.bench.site.sent)
    if again:
        trial.violate(f"{len(again)} pages that were stored were fetched again")


def _killed(trial: Trial, command: Command) -> str:
    """Start the command and kill it; how it ended."""
    bench, rng = trial.bench, trial.rng
    whole = bench.baseline(command.name)
    how = rng.choice(["time", "change", "change", *(["request"] * 3 if command.asks else [])])
    env: dict[str, str] = {}
    if how == "change":
        env["CHAOS_KILL_AT"] = str(rng.randint(1, whole.n_changes + 1))
    process = trial.start(command.arguments, env)
    if how == "time":
        fraction = rng.uniform(0.3, 1.05)
        process.wait(whole.seconds * fraction)
        trial.done.append(f"killed after {fraction:.2f} of its time")
    elif how == "request":
        seen = len(bench.server.asked)
        count = rng.randint(1, max(1, whole.answered.total() - seen))
        bench.server.wait_for(seen + count, process.runs)
        time.sleep(rng.uniform(0, 0.05))
        trial.done.append(f"killed after {count} requests")
    else:
        trial.done.append(f"killed at file change {env['CHAOS_KILL_AT']} of {whole.n_changes}")
        process.wait(60)
    process.kill()
    return trial.ended(process.finish(), killed=True).state


def faults(trial: Trial) -> None:
    """A fifth of the calls goes wrong, in all ways or in one; then the same command runs without."""
    command = trial.command(*RUNS, *RUNS, "sweep", "qualify")
    every = (*BROKEN_TRANSPORT, *BROKEN_BODY, *BROKEN_PROBABILITIES, SLOW)
    mixed = trial.rng.random() < 0.6
    kinds = every if mixed else (trial.rng.choice(every),)
    share = 0.2 if mixed else trial.rng.choice([0.2, 0.5, 1.0])
    if set(kinds) == {"hang"}:
        share = 0.1  # each takes as long as the time limit
    _carry_out(trial, command, Faults(trial.rng.randrange(1 << 30), share, kinds))


def replies(trial: Trial) -> None:
    """The judge's own words are no answer now and then, and it is asked again.

    Such replies are the judge's and stay: claims and findings name them beside the good ones. Scores are equal, or a
    failure is counted; the same command, given again, asks nothing and changes nothing.
    """
    command = trial.command("run")
    trial.compared = "run/scores/"
    share = trial.rng.choice([0.2, 0.5, 1.0])
    ended = _with_faults(trial, command, Faults(trial.rng.randrange(1 << 30), share, BROKEN_CONTENT))
    trial.held_against_baseline(command, ended)
    found, n_asked = command.results(trial.cwd), len(trial.bench.server.asked)
    again = trial.run(command.arguments)
    if again.state != ended.state or command.results(trial.cwd) != found:
        trial.violate(f"given again, it comes to something else: {again.brief()}")
    if len(trial.bench.server.asked) != n_asked:
        trial.violate(f"given again, it asks {len(trial.bench.server.asked) - n_asked} questions")


def shaky(trial: Trial) -> None:
    """What is asked of the server besides chats (models, version, tokens) goes wrong now and then."""
    command = trial.command(*RUNS)
    seed = trial.rng.randrange(1 << 30)
    _carry_out(trial, command, Faults(seed, 0.05, {*SIDE_FAULTS, "503"}, side_share=0.25))


def _carry_out(trial: Trial, command: Command, wrong: Faults) -> None:
    ended = _with_faults(trial, command, wrong)
    trial.held_against_baseline(command, ended)
    outcome = trial.outcome
    trial.ends_equal(command)
    trial.settle(outcome)


def _with_faults(trial: Trial, command: Command, wrong: Faults) -> Ended:
    """Run the command against a server with faults."""
    kinds = "mixed" if len(wrong.kinds) > 4 else ", ".join(sorted(wrong.kinds))
    trial.done.append(f"{wrong.share:.0%} of the calls: {kinds}")
    trial.bench.server.set_faults(wrong)
    ended = trial.run(command.arguments)
    met = trial.bench.server.faulty
    trial.done.append(f"{met.total()} faults, {ended.state}")
    trial.bench.server.set_faults(None)
    strange = {one.digest for one in trial.bench.server.asked if one.outcome == OTHER_MODEL}
    strange -= trial.bench.server.answered().keys()
    if strange and ended.state == "done":
        trial.violate(f"{len(strange)} replies of another model were taken for the judge's")
    return ended


def outage(trial: Trial) -> None:
    """The server goes away in the middle, and comes back after some seconds."""
    command = trial.command(*RUNS, "sweep")
    server, whole = trial.bench.server, trial.bench.baseline(command.name)
    count, seconds = trial.rng.randint(1, whole.answered.total() - 1), trial.rng.uniform(1, 14)
    trial.done.append(f"server away for {seconds:.1f} s after {count} requests")
    process = trial.start(command.arguments)
    server.wait_for(count, process.runs)
    lost = server.in_flight(UNDER_WAY)
    server.vanish()
    process.wait(seconds)
    server.appear()
    ended = trial.ended(process.finish())
    trial.held_against_baseline(command, ended)
    if ended.state != "done":
        trial.violate(f"it was told to wait for the server, and did not: {ended.brief()}")
    outcome = trial.outcome
    trial.ends_equal(command, lost)
    trial.settle(outcome)


def pauses(trial: Trial) -> None:
    """One, some or all servers answer 429 or 503 to every call for some seconds, with Retry-After or without."""
    bench, rng = trial.bench, trial.rng
    command = trial.command(*RUNS)
    whole = bench.baseline(command.name)
    n_servers, kind, seconds = rng.choice([1, 1, 2, 3]), rng.choice(PAUSES), rng.uniform(1, 12)
    with contextlib.ExitStack() as stack:
        others = [stack.enter_context(ModelServer(command.plan)) for _ in range(n_servers - 1)]
        paused = rng.sample([bench.server, *others], rng.randint(1, n_servers))
        count = rng.randint(1, whole.answered.total() // n_servers)
        trial.done.append(
            f"{kind} of {len(paused)} of {n_servers} servers for {seconds:.1f} s after {count} requests"
        )
        process = trial.start(
            (*command.arguments, *(word for one in others for word in ("--base-url", one.url)))
        )
        bench.server.wait_for(count, process.runs)
        for server in paused:
            server.set_faults(Faults(trial.seed, 1.0, (kind,)))
        process.wait(seconds)
        for server in paused:
            server.set_faults(None)
        ended = trial.ended(process.finish())
        if ended.state == "done":
            # Its arguments name other servers.
            but = ("run/manifest.json",) if others else ()
            trial.same_results(command, command.results(trial.cwd), but=but)
        else:
            trial.violate(f"it did not wait for the servers: {ended.brief()}")
        trial.asked_once(whole.answered, set(), others)


def full_disk(trial: Trial) -> None:
    """The disk fills up while a command writes; then there is room, and the same command goes on."""
    disk = trial.folder / "disk"
    with _small_disk(disk) as resize:
        if resize is None:
            trial.done.append("no right to mount a small file system")
            trial.settle("skipped")
            return
        trial.cwd = disk / "cwd"
        command = trial.command(*RUNS, *RUNS, "qualify", "fetch", *FILE_COMMANDS)
        used, whole = _size(disk), _size(trial.bench.baseline(command.name).cwd)
        room = used + 4 * PAGE + int(max(whole - used, 8192) * trial.rng.uniform(0.05, 1.3))
        trial.done.append(f"{room >> 10} KiB of disk")
        resize(room)
        ended = trial.run(command.arguments)
        trial.done.append(ended.state)
        trial.held_against_baseline(command, ended)
        lost = trial.bench.server.in_flight(UNDER_WAY)
        resize(LARGE_DISK)
        outcome = trial.outcome
        trial.ends_equal(command, lost)
        trial.settle(outcome)
        if trial.violations:
            shutil.copytree(disk, trial.folder / "copy-of-disk")


LARGE_DISK = 256 << 20
PAGE = 4096


def _size(folder: Path) -> int:
    """Bytes that a file system of whole pages needs for a folder."""
    return sum(-(-path.stat().st_size // PAGE) * PAGE for path in folder.rglob("*") if path.is_file())


@contextlib.contextmanager
def _small_disk(place: Path) -> Generator[Callable[[int], None] | None]:
    """A file system in memory at `place`, and a function that sets its size; None without the right to mount one."""
    place.mkdir(parents=True)

    def mount(options: str) -> int:
        command = ["mount", "-t", "tmpfs", "-o", options, "chaos", str(place)]
        return subprocess.run(command, capture_output=True, check=False).returncode

    if os.geteuid() != 0 or mount(f"size={LARGE_DISK}"):
        yield None
        return
    try:
        yield lambda size: _checked(mount(f"remount,size={size >> 10}k"))
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True, capture_output=True)


def _checked(code: int) -> None:
    if code:
        raise RuntimeError("the small file system cannot be resized")


def clock(trial: Trial) -> None:
    """The clock jumps by up to ten days, back and forth."""
    command = trial.command(*RUNS, "qualify", "fetch", "import", "merge", "wacz", "rescore")
    jumps = {"CHAOS_CLOCK": str(trial.rng.randrange(1 << 30))}
    if trial.rng.random() < 0.4:
        trial.bench.server.set_faults(Faults(trial.seed, 0.2, ("500", "503", "429")))
        trial.done.append("with a server that says when to come again")
    ended = trial.run(command.arguments, jumps)
    trial.held_against_baseline(command, ended)
    trial.bench.server.set_faults(None)
    outcome = trial.outcome
    trial.ends_equal(command)
    trial.settle(outcome)


def two(trial: Trial) -> None:
    """Two identical processes at once: in one directory, or in two with one ledger."""
    shared = trial.rng.random() < 0.3
    names = (*RUNS, *RUNS, "qualify", "fetch", "import", "merge", "index")
    command = trial.command(*(("run with a ledger elsewhere",) if shared else names))
    server = trial.bench.server
    server.delay = 0.2  # so that both are at work at one time
    other = trial.folder / "other" if shared else trial.cwd
    if shared:
        trial.bench.prepare(command, other)
        trial.done.append("two directories, one ledger")
    started: list[Process] = []
    for number, cwd in enumerate((trial.cwd, other)):
        started.append(trial.start(command.arguments, {"LOCAL_JUDGE_API_KEY": f"process-{number}"}, cwd))
        if not number:
            time.sleep(trial.rng.choice([0.0, trial.rng.uniform(0, 2.5)]))
    ended = [trial.ended(process.finish()) for process in started]
    trial.done.append(" and ".join(one.state for one in ended))
    if "done" not in [one.state for one in ended]:
        trial.violate(f"neither came to its end: {ended[0].brief()}; {ended[1].brief()}")
    for number, one in enumerate(ended):
        n_asked = sum(f"process-{number}" in asked.key for asked in server.asked)
        if one.state == "refused" and n_asked:
            trial.violate(f"the process that was refused made {n_asked} calls: {one.brief()}")
        if one.state == "missing":
            trial.violate(f"a process lacks answers: {one.brief()}")
    if shared:
        # Neither can know what the other is waiting for; but none asks twice itself.
        pairs = [(asked.key, asked.digest) for asked in server.asked]
        if len(set(pairs)) < len(pairs):
            trial.violate(f"{len(pairs) - len(set(pairs))} calls were made twice by one process")
        trial.same_results(command, command.results(other))
        server.reset()
    outcome: Outcome = "refused" if "refused" in [one.state for one in ended] else "equal"
    trial.ends_equal(command)
    trial.settle(outcome)


def bit_flips(trial: Trial) -> None:
    """One to three bits change in what is stored, between two commands."""
    what = trial.rng.choice(["ledger", "ledger", "results", "results", "results", "snapshot"])
    {"ledger": _flipped_ledger, "results": _flipped_results, "snapshot": _flipped_snapshot}[what](trial)


def _flipped_ledger(trial: Trial) -> None:
    """A run made again from a damaged ledger."""
    command = trial.command(*RUNS)
    whole = trial.bench.baseline(command.name)
    shutil.copytree(whole.cwd / "run", trial.cwd / "run")
    for path in sorted((trial.cwd / "run").iterdir()):
        if not path.name.startswith("ledger.sqlite"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    _flip(trial, [trial.cwd / "run/ledger.sqlite"])
    ended = trial.run(command.arguments)
    trial.done.append(ended.state)
    trial.held_against_baseline(command, ended)


def _flipped_results(trial: Trial) -> None:
    """Shown, scored again, exported or gone on with, after a result file was damaged."""
    command = trial.command(*RUNS)
    whole = trial.bench.baseline(command.name)
    shutil.copytree(whole.cwd / "run", trial.cwd / "run")
    files = [path for path in sorted((trial.cwd / "run").rglob("*")) if path.is_file()]
    _flip(trial, [path for path in files if NO_RESULT.search(str(path.relative_to(trial.cwd))) is None])
    report = trial.rng.choice("ab")
    reading = trial.rng.choice(
        [
            ("show", "run"),
            ("show", "run", "--json"),
            ("show", "run", "--report", report, "--claims", "--items"),
            ("export", "run", "out", "--format", "csv"),
            ("rescore", "run"),
            command.arguments,
        ]
    )
    trial.done.append(" ".join(reading[:2]) if reading[0] != "run" else "run again")
    ended = trial.run(reading)
    trial.done.append(ended.state)
    if ended.state == "refused":
        trial.settle("refused")
    elif ended.state == "missing":
        trial.violate(f"a damaged file counts as a missing answer: {ended.brief()}")
    elif reading[0] in ("run", "rescore"):
        trial.same_results(command, command.results(trial.cwd))
    else:
        _same_reading(trial, command, reading, ended.out)


def _same_reading(trial: Trial, command: Command, reading: tuple[str, ...], out: str) -> None:
    """What is printed and written of a damaged run is what is printed and written of the whole one."""
    damaged = _written(trial.cwd / "out")
    shutil.rmtree(trial.cwd / "run")
    shutil.rmtree(trial.cwd / "out", ignore_errors=True)
    shutil.copytree(trial.bench.baseline(command.name).cwd / "run", trial.cwd / "run")
    whole = trial.run(reading)
    if (out, damaged) != (whole.out, _written(trial.cwd / "out")):
        trial.violate(f"{' '.join(reading)} reads something else without a word")


def _written(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def _flipped_snapshot(trial: Trial) -> None:
    """A run on a damaged snapshot, which `snapshot verify` must notice."""
    command = trial.command(*RUNS)
    snapshot = trial.cwd / "snapshot"
    shutil.copytree(trial.bench.inputs / "snapshot", snapshot)
    _flip(trial, [path for path in sorted(snapshot.rglob("*")) if path.is_file()])
    verified = trial.run(("snapshot", "verify", "snapshot"))
    if verified.state == "done":
        trial.violate("snapshot verify finds nothing wrong")
    old = str(trial.bench.inputs / "snapshot")
    arguments = tuple("snapshot" if one == old else one for one in command.arguments)
    ended = trial.run(arguments)
    trial.done.append(ended.state)
    if ended.state == "done":
        # Its arguments name another snapshot.
        trial.same_results(command, command.results(trial.cwd), but=("run/manifest.json",))
    else:
        trial.held_against_baseline(command, ended)


def _flip(trial: Trial, files: list[Path]) -> None:
    """Change one to three bits of one of these files."""
    path = trial.rng.choice([path for path in files if path.stat().st_size])
    content = bytearray(path.read_bytes())
    for _ in range(trial.rng.randint(1, 3)):
        place, bit = trial.rng.randrange(len(content)), trial.rng.randrange(8)
        content[place] ^= 1 << bit
        trial.done.append(f"bit {bit} of byte {place} of {path.relative_to(trial.cwd)}")
    path.write_bytes(content)


SCENARIOS: dict[str, Callable[[Trial], None]] = {
    "kills": kills,
    "faults": faults,
    "replies": replies,
    "shaky": shaky,
    "outage": outage,
    "full-disk": full_disk,
    "clock": clock,
    "two": two,
    "bit-flips": bit_flips,
    "pauses": pauses,
    "sweep": sweep,
    "ray": ray,
    "bundle": bundle,
    "labels": labels,
    "search-web": search_web,
    "received": received,
}
