#!/usr/bin/env python3
"""Checks every command of the project's programs in the code blocks of the pages: verbs and flags exist.

    check_commands.py SOURCE_DIR BIN_DIR [PAGE...]
    check_commands.py SOURCE_DIR BIN_DIR --self-test

The programs' own help is the judge. A word that begins with `-` must be in the help of the verb before it.
Blocks of `yaml`, `json` and the like are not commands. Exit code 1 lists page, line, command and what is wrong.
"""

import functools
import os
import pathlib
import re
import shlex
import subprocess
import sys

PROGRAMS = ("ringmaster", "ringmaster-controller", "ringmaster-worker", "ring-train", "ring-checkpoint", "ring-bench",
            "ring-arena")
SHELL = ("", "sh", "bash", "console", "shell")
# Words before a command that leave it what it is.
PREFIXES = ("$", "#", "sudo", "exec", "srun", "time", "nohup")
LEAVE_OUT = ("docs/benchmarks/", "docs/decisions/")  # what was run then


def code_lines(text):
    """Yields (line number, line) of shell blocks; lines that end in a backslash are joined."""
    language, joined, first = None, "", 0
    for number, line in enumerate(text.splitlines(), 1):
        fence = re.match(r"\s*```(\w*)", line)
        if fence:
            language = fence.group(1) if language is None else None
            continue
        if language not in SHELL:
            continue
        first = first if joined else number
        if line.endswith("\\"):
            joined += line[:-1] + " "
            continue
        yield first, joined + line
        joined = ""


def words_of(line):
    try:
        return shlex.split(line, comments=not line.lstrip().startswith("#"))
    except ValueError:
        return []  # a line of output with an open quote


def command_in(line):
    """The words of a command of the project in `line`, or nothing: output and other programs."""
    words = words_of(line)
    while words and (words[0] in PREFIXES or re.fullmatch(r"[A-Z_]+=.*", words[0])):
        words = words[1:]
    if not words or os.path.basename(words[0]) not in PROGRAMS or words[0].endswith(":"):
        return []
    end = next((i for i, word in enumerate(words) if word in ("|", ">", "2>&1", "&&", ";", "&", "--", "...")), len(words))
    return [os.path.basename(words[0])] + words[1:end]


class Help:
    """What the programs' own help says."""

    def __init__(self, bin_dir):
        self.bin_dir = bin_dir

    @functools.lru_cache(maxsize=None)
    def text(self, command):
        done = subprocess.run([os.path.join(self.bin_dir, command[0]), *command[1:], "--help"], capture_output=True,
                              text=True, timeout=30, stdin=subprocess.DEVNULL)
        return done.stdout if done.returncode == 0 else None

    def verbs(self, command):
        """The verbs that the help of `command` lists, each with its description."""
        return set(re.findall(r"^  ([a-z][a-z-]*) {2,}[A-Z]", self.text(command) or "", re.M))


def fault_of(words, help_of):
    """Why the command is no command of this version; None: it is one."""
    command = (words[0],)
    if not os.path.exists(os.path.join(help_of.bin_dir, words[0])):
        return None  # not built here
    flags = []
    for word in words[1:]:
        verbs = help_of.verbs(command)
        if word.startswith("-") and len(word) > 1 and not re.fullmatch(r"-\d+", word):
            flags.append((command, word.split("=", 1)[0]))
        elif word in verbs:
            command += (word,)
        elif verbs and len(command) == 1 and not flags and re.fullmatch(r"[a-z][a-z-]*", word):
            return f"{' '.join(command)} has no verb '{word}'"
    for owner, flag in flags:
        helps = [help_of.text(command[:length]) or "" for length in range(1, len(command) + 1)]
        if not any(re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", text) for text in helps):
            return f"{' '.join(command)} has no flag {flag}"
    return None


def check(pages, help_of):
    faults, checked = [], 0
    for page in pages:
        for number, line in code_lines(page.read_text()):
            words = command_in(line)
            if not words:
                continue
            checked += 1
            fault = fault_of(words, help_of)
            if fault:
                faults.append(f"{page}:{number}: {fault}: {' '.join(words)}")
    return faults, checked


def self_test(help_of):
    wrong = ["ringmaster submt job.yaml", "ringmaster submit job.yaml --folow", "sudo ringmaster-worker --sate DIR",
             "X=1 /opt/ringmaster/bin/ringmaster ls --stat DIR"]
    right = ["$ ringmaster submit job.yaml --follow", "ringmaster: no such job", "ringmaster --state DIR ls",
             "ringmaster drain rack1 --reason 'a new disk' | cat --wrong"]
    missed = [line for line in wrong if not fault_of(command_in(line), help_of)]
    missed += [line for line in right if command_in(line) and fault_of(command_in(line), help_of)]
    return [f"self-test: judged wrongly: {line}" for line in missed], len(wrong) + len(right)


def main():
    source, bin_dir = pathlib.Path(sys.argv[1]), sys.argv[2]
    help_of = Help(bin_dir)
    if sys.argv[3:] == ["--self-test"]:
        faults, checked = self_test(help_of)
    else:
        listed = subprocess.run(["git", "-C", source, "ls-files", "*.md"], capture_output=True, text=True).stdout.split()
        names = sys.argv[3:] or listed or [str(p.relative_to(source)) for p in source.glob("docs/**/*.md")] + ["README.md"]
        pages = [source / name for name in names if not name.startswith(LEAVE_OUT)]
        faults, checked = check(pages, help_of)
    print("\n".join(faults + [f"{checked} commands, {len(faults)} faults"]))
    return 1 if faults or checked == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
