"""With its queue in PostgreSQL a gateway loses its machine, servers die and fail over, and no answered log is lost."""

import time

from harness.database import PROGRAMS, Database
from proof.scenarios import judge
from proof.scenarios.brokers import Trouble
from proof.trial import Trial

MOVES = {False: 6, True: 60}
ROUNDS = {False: 1, True: 10}


def check(trial: Trial) -> None:
    if not (PROGRAMS / "initdb").exists():
        return trial.skip("database", "PostgreSQL is not installed")
    database = Database(trial.programs)
    settings = database.settings("steady")
    trouble = Trouble(trial, settings)
    trouble.goes_on("nothing is broken yet")
    for _ in range(ROUNDS[trial.is_long]):
        for server, name in ((database.standby, "standby"), (database.primary, "primary")):
            server.kill()
            refuses(trial, trouble, name)
            server.start()
            trouble.goes_on(f"the {name} is back")
    trouble.end()
    # The last part: a session ends all programs of the trial.
    counts = judge.run_session(trial, 0, MOVES[trial.is_long], database.settings("moving"), moves=True)
    trial.say(f"{counts['kills']} machines lost")


def refuses(trial: Trial, trouble: Trouble, name: str) -> None:
    """Commits that were under way may end. Then none is answered."""
    time.sleep(0.5)
    before = trouble.answered
    time.sleep(2)
    trial.expect(trouble.answered == before, f"a request was answered with 200 without the {name}")
