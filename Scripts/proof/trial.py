"""What a part works with: a seed, a directory, programs that end with it, and a list of what was wrong."""

import random

from program import Gateway, Sandbox


class Trial:
    def __init__(self, part, work, seed, is_long, minutes=None):
        self.part, self.work, self.seed, self.is_long, self.minutes = part, work, seed, is_long, minutes
        self.random = random.Random(seed)
        self.complaints, self.skipped = [], []
        self.programs = []

    def wrong(self, line):
        """Notes something that breaks a promise. More than a screen of it helps nobody."""
        if len(self.complaints) < 40:
            self.complaints.append(line)

    def expect(self, holds, line):
        if not holds:
            self.wrong(line)
        return holds

    def skip(self, name, why):
        """Notes what this machine cannot do. It is not proven then, and the verdict says so."""
        self.skipped.append(name)
        self.say(f"{name} is left out: {why}")

    def say(self, line):
        """A count or a figure that was reached."""
        print(f"prove: {self.part}: {line}", flush=True)

    def sandbox(self, **options):
        return Sandbox(self.work, programs=self.programs, **options)

    def gateway(self, sandbox, **options):
        """A gateway on the one data directory of this trial, unless the options name another."""
        return Gateway(self.work, sandbox, programs=self.programs, **options)

    def remember(self, program):
        """Something else that has to be ended with `kill`."""
        self.programs.append(program)
        return program

    def end(self):
        for program in self.programs:
            program.kill()
