"""What a part works with: a seed, a directory, programs that end with it, and a list of what was wrong."""

import random

from program import Gateway, Sandbox


class Trial:
    def __init__(self, part, work, seed, is_long):
        self.part, self.work, self.seed, self.is_long = part, work, seed, is_long
        self.random = random.Random(seed)
        self.complaints = []
        self.programs = []

    def wrong(self, line):
        """Notes something that breaks a promise. More than a screen of it helps nobody."""
        if len(self.complaints) < 40:
            self.complaints.append(line)

    def expect(self, holds, line):
        if not holds:
            self.wrong(line)
        return holds

    def say(self, line):
        """A count or a figure that was reached."""
        print(f"prove: {self.part}: {line}", flush=True)

    def sandbox(self, **options):
        return self.remember(Sandbox(self.work, **options))

    def gateway(self, sandbox, **options):
        """A gateway on the one data directory of this trial, unless the options name another."""
        return self.remember(Gateway(self.work, sandbox, **options))

    def remember(self, program):
        self.programs.append(program)
        return program

    def end(self):
        for program in self.programs:
            program.kill()
