"""Guesses at the admin token, from many addresses and connections."""

import collections
import http.client
import itertools

from harness.gateway import TOKEN, Gateway
from proof.trial import Trial

numbers = itertools.count()


def ask(port: int, token: str, address: str) -> tuple[int, str | None]:
    """The status for this token from this address, on a connection of its own, and its Retry-After."""
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
    """Guessers are throttled after a few tries; the right token is never throttled."""
    friend, many = "127.0.5.1", 200 if trial.is_long else 30
    trial.expect(ask(gateway.admin, TOKEN, friend)[0] == 200, "the right token is refused")
    statuses: collections.Counter[int] = collections.Counter()
    for number in range(many):
        # The last guesser shares the operator's address.
        address = f"127.0.6.{number + 1}" if number < many - 1 else friend
        mine = [ask(gateway.admin, wrong(), address) for _ in range(12)]
        statuses.update(status for status, _ in mine)
        looked = sum(status == 401 for status, _ in mine)
        trial.expect(4 <= looked <= 8, f"{address}: {looked} of 12 wrong tokens were checked")
        told = all(wait and 1 <= int(wait) <= 60 for status, wait in mine if status == 429)
        trial.expect(told, f"{address}: 429 without a Retry-After from 1 to 60")
    trial.expect(set(statuses) == {401, 429}, f"guesses were answered {dict(statuses)}")
    trial.expect(
        ask(gateway.admin, TOKEN, friend)[0] == 200, "the right token is throttled for another client's guesses"
    )
    trial.expect(
        ask(gateway.admin, TOKEN, "127.0.7.1")[0] == 200, "the right token is throttled at an address without guesses"
    )
    early = ask(gateway.admin, TOKEN, "127.0.6.1")[0]
    trial.expect(early in (200, 429), f"the right token from an address with guesses: {early}")
    if trial.is_long:
        crowd(trial, gateway)
    trial.say(f"admin: {sum(statuses.values())} guesses from {many} addresses, {statuses[401]} of them checked")


def crowd(trial: Trial, gateway: Gateway) -> None:
    """Guesses from very many addresses must not make the gateway forget a throttled one."""
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
        f"after 1500 other addresses an old guesser had {statuses.count(401)} more guesses checked",
    )
