"""Work on threads of its own beside a trial."""

import threading


class Worker:
    """`work` runs on each of its threads until it is ended."""

    def begin(self, count: int = 1) -> None:
        self.ended = threading.Event()
        self.threads = [threading.Thread(target=self.work, args=(number,), daemon=True) for number in range(count)]
        for thread in self.threads:
            thread.start()

    def work(self, number: int) -> None:
        """The work of one thread. It looks at `ended` at short intervals."""
        raise NotImplementedError

    def end(self) -> None:
        self.ended.set()
        for thread in self.threads:
            thread.join()
