#!/usr/bin/env python3
"""Runs the shell blocks of Markdown files: run-commands.py OPTIONS FILE...

A block that opens with ```sh is run by bash, with -e, in a scratch folder that
shows the project under its own names (`build` is the build under test), so that
outputs do not land in the source tree. Blocks of one file share the folder and
run in order. Words after `sh` gate a block: `gpu`, `network`, and `manual` for
commands that change the machine, which are only parsed. The project's own two
commands, scripts/demo.sh and scripts/check.sh, are checked to exist and parse
instead of being run: check.sh runs this very test.

Prints one line a block and exits with 1 if one failed.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

OWN_COMMANDS = re.compile(r"^\s*(?:bash\s+)?(scripts/(?:demo|check)\.sh)\b.*$")
GATES = {"gpu", "network", "manual"}


def blocks(path):
    """Yields (line number, gates, text) of each ```sh block."""
    opened = None
    lines = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        fence = re.match(r"^ {0,3}```\s*(.*?)\s*$", line)
        if not fence:
            lines.append(line)
        elif opened is None:
            opened = (number, fence.group(1).split())
            lines = []
        else:
            if opened[1] and opened[1][0] == "sh":
                yield opened[0], opened[1][1:], "\n".join(lines) + "\n"
            opened = None
    if opened is not None:
        raise ValueError(f"{path}:{opened[0]}: the code block is not closed")


def make_scratch(folder, root, build):
    """A folder with a link to each entry of the project and `build` to build."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for entry in root.iterdir():
        if not entry.name.startswith(".") and not entry.name.startswith("build"):
            (folder / entry.name).symlink_to(entry)
    (folder / "build").symlink_to(build)


def run_block(text, folder, environment):
    """Runs one block; returns what went wrong, or None."""
    commands = []
    for line in text.splitlines():
        own = OWN_COMMANDS.match(line)
        if own:
            script = folder / own.group(1)
            if not os.access(script, os.X_OK):
                return f"{own.group(1)} is not an executable file"
            commands.append(f"bash -n {own.group(1)}")
        else:
            commands.append(line)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(commands)],
        cwd=folder, env=environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600,
    )
    if done.returncode == 0:
        return None
    return f"exit status {done.returncode}\n{done.stdout}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--have", action="append", default=[], help="a gate that is open")
    parser.add_argument("files", nargs="+", help="Markdown files, or folders of them")
    options = parser.parse_args()

    files = []
    for name in options.files:
        path = options.root / name
        files += sorted(path.rglob("*.md")) if path.is_dir() else [path]
    failed = total = 0
    for path in files:
        make_scratch(options.work, options.root, options.build.resolve())
        for line, gates, text in blocks(path):
            where = f"{path.relative_to(options.root)}:{line}"
            unknown = set(gates) - GATES
            missing = set(gates) - set(options.have)
            total += 1
            if unknown:
                failed += 1
                print(f"FAIL {where}: unknown gate {' '.join(sorted(unknown))}")
                continue
            if missing:
                parsed = subprocess.run(["bash", "-n"], input=text, text=True, capture_output=True)
                problem = parsed.stderr if parsed.returncode else None
                word = f"parsed (needs {' '.join(sorted(missing))})"
            else:
                problem = run_block(text, options.work, dict(os.environ))
                word = "ran"
            failed += problem is not None
            print(f"FAIL {where}: {problem}" if problem else f"{word} {where}")
    if not total:
        print("FAIL: no shell block found")
    return 1 if failed or not total else 0


if __name__ == "__main__":
    sys.exit(main())
