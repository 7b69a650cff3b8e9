"""Guesses at the admin token, from many addresses and connections."""

import collections
import http.client
import itertools

from harness.gateway import TOKEN, Gateway
from proof.trial import Trial

numbers = itertools.count()


def ask(port: int, token: str, address: str) -> tuple[int, str | None]:
    """The status for this token, from this address, on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10, source_address=(address, 0))
    try:
        connection.request("GET", "/admin/ledger", headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        answer.read()
        return answer.status, answer.headers.get("Retry-After")
    finally:
        connection.close()


def wrong() -> str:
    return f"{next(numbers):032d}-is-not-the-token"


def check(trial: Trial, gateway: Gateway) -> None:
    """Guessers have to wait after a few tries; who has the token never has to."""
    friend, many = "127.0.5.1", 200 if trial.is_long else 30
    trial.expect(ask(gateway.admin, TOKEN, friend)[0] == 200, "the right token is not let in")
    statuses: collections.Counter[int] = collections.Counter()
    for number in range(many):
        # The last of them is where the operator is, too.
        address = f"127.0.6.{number + 1}" if number < many - 1 else friend
        mine = [ask(gateway.admin, wrong(), address) for _ in range(12)]
        statuses.update(status for status, _ in mine)
        looked = sum(status == 401 for status, _ in mine)
        trial.expect(4 <= looked <= 8, f"{address}: {looked} of 12 wrong tokens were looked at")
        told = all(wait and 1 <= int(wait) <= 60 for status, wait in mine if status == 429)
        trial.expect(told, f"{address}: 429 without a time to wait")
    trial.expect(set(statuses) == {401, 429}, f"guesses were answered {dict(statuses)}")
    trial.expect(ask(gateway.admin, TOKEN, friend)[0] == 200, "a neighbour guesses, and who has the token has to wait")
    trial.expect(ask(gateway.admin, TOKEN, "127.0.7.1")[0] == 200, "the right token has to wait where nobody guessed")
    early = ask(gateway.admin, TOKEN, "127.0.6.1")[0]
    trial.expect(early in (200, 429), f"the right token from where somebody guesses: {early}")
    if trial.is_long:
        crowd(trial, gateway)
    trial.say(f"admin: {sum(statuses.values())} guesses from {many} addresses, {statuses[401]} of them looked at")


def crowd(trial: Trial, gateway: Gateway) -> None:
    """Very many addresses do not make the gateway forget one that has to wait."""
    address = "127.0.8.1"
    while ask(gateway.admin, wrong(), address)[0] != 429:
        pass
    for _ in range(3):
        ask(gateway.admin, wrong(), address)
    for number in range(1500):
        ask(gateway.admin, wrong(), f"127.1.{number // 250}.{number % 250 + 1}")
    statuses = [ask(gateway.admin, wrong(), address)[0] for _ in range(12)]
    trial.expect(
        statuses.count(401) <= 4,
        f"after 1500 other addresses an old guesser was looked at {statuses.count(401)} times more",
    )
