"""Kills `sd-tune run` and its workers again and again.

usage: kill-runs.py KILLS DIRECTORY

Runs a small package on the emulator with --results and --resume. At points
drawn from a fixed seed, the run or its worker is killed; the next run goes on
where it was. Whatever a run had said to be done must stand in the file; once
all is done, the results are those of an undisturbed run, no process is left and
no temporary directory. Then the next round begins with an empty file.
"""

import json
import os
import random
import signal
import struct
import subprocess
import sys
import time

kills_wanted, root = int(sys.argv[1]), sys.argv[2]
os.makedirs(root + "/tmp")
package, log = root + "/package", root + "/results.jsonl"
MARK = "SPARSEDITTO_TEST_MARK"
mark = "%d-%d" % (os.getpid(), time.time_ns())
environment = dict(os.environ, TMPDIR=root + "/tmp")
environment[MARK] = mark
generator = random.Random(3)


def write_weights(path):
    """Two layers of different shapes, one value a row."""
    header, data = {}, bytearray()
    for layer, columns in enumerate((32, 64)):
        raw = bytearray(8 * columns * 2)
        for row in range(8):
            at = row * columns + (row * 5 + layer) % columns
            struct.pack_into("<e", raw, at * 2, 0.25 + row)
        begin = len(data)
        data += raw
        header["layer%d" % layer] = {
            "dtype": "F16",
            "shape": [8, columns],
            "data_offsets": [begin, len(data)],
        }
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def command(*more):
    return ["sd-tune", "run", package, "--emulate", "--n=1", "--seed=1", *more]


def ours():
    """(process, command line) of everything that carries our mark."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open("/proc/%s/environ" % entry, "rb") as file:
                if mark.encode() not in file.read():
                    continue
            with open("/proc/%s/cmdline" % entry, "rb") as file:
                found.append((int(entry), file.read().split(b"\0")))
        except OSError:
            pass  # It has just ended.
    return found


def wait_for_none():
    deadline = time.monotonic() + 20
    while ours():
        if time.monotonic() > deadline:
            sys.exit("left behind: %s" % ours())
        time.sleep(0.002)


def logged():
    """Finished symbols of the file; its lines, complete and torn."""
    try:
        with open(log, encoding="utf-8") as file:
            text = file.read()
    except FileNotFoundError:
        return set(), []
    finished = set()
    lines = text.split("\n")
    for line in lines:
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if value["result"]["status"] == "verified":
            finished.add(value["symbol"])
    return finished, lines


def results(text):
    """The kernels of a --json output without what differs from run to run."""
    kernels = json.loads(text)["kernels"]
    for kernel in kernels:
        del kernel["seconds"]
    return kernels


def start():
    with open(root + "/progress", "wb") as progress:
        return subprocess.Popen(
            command("--results", log, "--resume"),
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=progress,
            start_new_session=True,
        )


def said():
    """Symbols that the run's progress calls verified."""
    done = set()
    with open(root + "/progress", encoding="utf-8") as file:
        for line in file:
            if line.endswith("\n") and ": verified in " in line:
                done.add(line.split()[1].rstrip(":"))
    return done


def kill_worker(run):
    """Kills a worker of the run if one shows before the run ends."""
    while run.poll() is None:
        for process, words in ours():
            if b"worker" in words:
                try:
                    os.kill(process, signal.SIGKILL)
                except ProcessLookupError:
                    continue
                return True
    return False


write_weights(root + "/weights.safetensors")
subprocess.run(
    ["sd-tune", "compile", root + "/weights.safetensors", "--n=1,2",
     "--target=sm_80", "-o", package],
    check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
)
begin = time.monotonic()
reference = results(
    subprocess.run(
        command("--json"), env=environment, check=True, capture_output=True
    ).stdout
)
whole = time.monotonic() - begin
if len(reference) < 2:
    sys.exit("the package has %d kernels, expected at least 2" % len(reference))

if len({kernel["symbol"] for kernel in reference}) < len(reference):
    sys.exit("two kernels of the package have the same name")

# Within this time after its start a run is killed. It follows the load of the
# machine: kills shall hit before, in and after the work on each kernel.
span = whole * 0.6
kills = rounds = worker_kills = 0
seen = []


def run_and_kill():
    """One run, killed at a random point or not reached; its exit code."""
    global kills, worker_kills
    run = start()
    time.sleep(generator.random() * span)
    if generator.random() < 0.4:
        if kill_worker(run):
            kills += 1
            worker_kills += 1
    elif run.poll() is None:
        os.kill(run.pid, generator.choice((signal.SIGKILL, signal.SIGTERM)))
        kills += 1
    return run.wait()


def check_kept():
    """No process is left; what the run said, and what there was, is kept."""
    global seen
    wait_for_none()
    finished, lines = logged()
    if not said() <= finished:
        sys.exit("said to be done and not kept: %s" % (said() - finished))
    if seen and lines[: len(seen) - 1] != seen[:-1]:
        sys.exit("lines of the file were changed")
    seen = lines


def check_round():
    """All is done: a last run finds every result, and cleans up."""
    global rounds, seen
    final = subprocess.run(
        command("--results", log, "--resume", "--json"),
        env=environment, check=True, capture_output=True,
    )
    if results(final.stdout) != reference:
        sys.exit("the results differ from those of an undisturbed run")
    if len(logged()[1]) != len(seen):
        sys.exit("a finished kernel was run again")
    if os.listdir(root + "/tmp"):
        sys.exit("directories are left: %s" % os.listdir(root + "/tmp"))
    rounds += 1
    os.remove(log)
    seen = []


while kills < kills_wanted:
    before = len(seen)
    code = run_and_kill()
    check_kept()
    span *= 1.2 if len(seen) == before else 0.7
    if code == 0:
        check_round()
if start().wait() != 0:
    sys.exit("an undisturbed run does not finish the work")
check_kept()
check_round()

if rounds < 2:
    sys.exit("only %d rounds came to their end" % rounds)
if not 0 < worker_kills < kills:
    sys.exit("%d of %d kills hit a worker" % (worker_kills, kills))
print("%d kills, %d of them of workers: nothing lost" % (kills, worker_kills))
print("rounds:", rounds, file=sys.stderr)
