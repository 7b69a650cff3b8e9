"""What a write-ahead log held when it was how long, noted at each answer."""

from damage import LOG, PAGE


class History:
    def __init__(self):
        # A log's salt, which another log in the same file has not; its length; the names that were answered by then.
        self.answers = []

    def note(self, directory, names):
        self.answers.append((*length((directory / LOG).read_bytes()), names))

    def of(self, directory):
        """For a queue at rest: names, and where its log ends behind which they are. Those of earlier logs are in the
        database by now."""
        file = directory / LOG
        salt, _ = length(file.read_bytes() if file.exists() else b"")
        return [(end if other == salt else 0, names) for other, end, names in self.answers]


def length(log):
    """A log's salt, and where its last transaction ends. Behind it is what is left of an earlier log."""
    salt, place, end = log[16:24], 32, 0
    while salt and log[place + 8 : place + 16] == salt:
        is_commit = log[place + 4 : place + 8] != bytes(4)
        place += 24 + PAGE
        end = place if is_commit else end
    return salt, end
