"""With its queue in PostgreSQL a gateway loses its machine, servers die and fail over, and no answered log is lost."""

import time

from harness.database import PROGRAMS, Database
from proof.clients.senders import LoadedGateway
from proof.scenarios import judge
from proof.trial import Trial

MOVES = {False: 4, True: 60}
ROUNDS = {False: 1, True: 10}


def check(trial: Trial) -> None:
    if not (PROGRAMS / "initdb").exists():
        return trial.skip("database", "PostgreSQL is not installed")
    database = Database(trial.programs)
    settings = database.settings("steady", "broken")
    loaded = LoadedGateway(trial, settings)
    loaded.goes_on("nothing is broken yet")
    for _ in range(ROUNDS[trial.is_long]):
        for server, name in ((database.standby, "standby"), (database.primary, "primary")):
            server.kill()
            refuses(trial, loaded, name)
            server.start()
            loaded.goes_on(f"the {name} is back")
        database.promote()
        refuses(trial, loaded, "new primary's standby")
        # Also one that has found the new primary by now.
        refuses(trial, loaded, "new primary's standby")
        database.return_old_primary()
        loaded.goes_on("the standby was promoted, and the old primary follows it")
    loaded.end()
    # The last part: a session ends all programs of the trial.
    counts = judge.run_session(trial, 0, MOVES[trial.is_long], database.settings("moving", "judge"), moves=True)
    trial.say(f"{counts['kills']} machines lost")


def refuses(trial: Trial, loaded: LoadedGateway, name: str) -> None:
    """Commits that were under way may end. Then none is answered."""
    time.sleep(0.5)
    before = loaded.answered
    time.sleep(2)
    trial.expect(loaded.answered == before, f"a request was answered with 200 without the {name}")
