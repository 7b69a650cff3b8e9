"""Elasticsearch's Python client"""

import datetime
import time
from typing import Any

from elasticsearch import Elasticsearch, helpers

from clients.arrivals import TEXT, Arrivals, Sent


def connect(arrivals: Arrivals, **settings: Any) -> Elasticsearch:
    return Elasticsearch(f"http://localhost:{arrivals.devices}", **settings)


def write(arrivals: Arrivals) -> None:
    plain = connect(arrivals, api_key=("id", "0123456789abcdef"))
    assert plain.ping() and plain.info()["tagline"] == "You Know, for Search"
    assert plain.cluster.health()["status"] == "green"
    bulk(arrivals, plain, "plain", 20)
    compressed = connect(arrivals, http_compress=True, basic_auth=("elastic", "secret"))
    bulk(arrivals, compressed, "compressed", 1200, named=True)
    single(arrivals, plain)
    refused(arrivals, plain)


def document(arrivals: Arrivals, name: str, index: int, named: bool = False, logstore: str = "app") -> dict[str, Any]:
    seconds, part = int(time.time()) - 3600, 123456 + index
    moment = datetime.datetime.fromtimestamp(seconds, datetime.UTC).replace(microsecond=part)
    if index % 2:
        moment = moment.replace(tzinfo=None)  # no time zone, which means UTC
    fields = {"id": name, "message": TEXT, "empty": ""}
    own = {"_id": f"é {index}"} if named else {}
    expected = {**fields, **own, "nested": '{"a":[1,null,"世"]}', "number": "1.5"}
    arrivals.expect(Sent(expected, "first", logstore, logstore, time=seconds, nanoseconds=part * 1000))
    return {**fields, **own, "nested": {"a": [1, None, "世"]}, "number": 1.5, "@timestamp": moment}


def bulk(arrivals: Arrivals, client: Elasticsearch, kind: str, count: int, named: bool = False) -> None:
    day = datetime.date.today().strftime("%Y.%m.%d")
    documents = [document(arrivals, f"elastic {kind} {number}", number, named) for number in range(count)]
    ways = [{"_op_type": "index", "_index": f"app-{day}"}, {"_op_type": "create", "_index": f"app-{day}"}]
    actions = [ways[number % 2] | each for number, each in enumerate(documents)]
    stored, errors = helpers.bulk(client, actions)
    assert (stored, errors) == (count, []), f"{stored} are stored, {errors}"


def single(arrivals: Arrivals, client: Elasticsearch) -> None:
    """Single documents. One with an id may be sent again."""
    name = "elastic single"
    index = f"app-{datetime.date.today():%Y.%m.%d}"
    answer = client.index(index=index, document=document(arrivals, f"{name} 0", 0))
    assert answer["result"] == "created" and answer["_index"] == index and answer["_id"], answer
    for number, write in enumerate([client.index, client.index, client.create], 1):
        content = document(arrivals, f"{name} {number}", number)
        key = f"é/{number}"
        arrivals.expected[f"{name} {number}"].fields["_id"] = key
        for _ in range(2):
            answer = write(index=index, id=key, document=content)
            assert (answer["result"], answer["_id"]) == ("created", key), answer


def refused(arrivals: Arrivals, client: Elasticsearch) -> None:
    """A document that cannot be written fails alone."""
    actions = [
        {"_op_type": "delete", "_index": "app", "_id": "1"},
        {"_index": "web", **document(arrivals, "elastic beside errors", 0, logstore="web")},
        {"_index": "No.Logstore", "id": "never"},
    ]
    results = list(helpers.streaming_bulk(client, actions, raise_on_error=False))
    statuses = [next(iter(result.values()))["status"] for _, result in results]
    assert statuses == [400, 201, 404], results
