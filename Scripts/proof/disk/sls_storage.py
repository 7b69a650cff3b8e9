"""What SLS has stored at each moment of a recording, derived from the gateway's requests and the answers to them."""

import collections
import dataclasses
import pathlib
import re
import shutil
import sqlite3
from random import Random

from harness.encodings import unlz4
from proof.disk.syscalls import Call, Event

HEAD = re.compile(
    rb"^POST /logstores/\w+/shards/route\?key=(\w+)&seqid=(\d+) .*?\r\nx-log-bodyrawsize: (\d+)", re.DOTALL
)


@dataclasses.dataclass
class Packet:
    key: str
    sequence: int
    sent: int  # Where the end of its first request was sent.
    answered: int | None = None  # Where the gateway received the first acknowledgement.


class SLSStorage:
    """The sandbox's file of a recording, with its packets by pack id."""

    def __init__(self, directory: pathlib.Path, events: list[Event]) -> None:
        self.directory, self.end = directory, len(events)
        database = sqlite3.connect(directory / "sls.db")
        self.packs = {pack for (pack,) in database.execute("SELECT pack FROM request")}
        database.close()
        self.packets: dict[str, Packet] = {}
        sending: dict[str, bytes] = collections.defaultdict(bytes)
        for index, (moment, call) in enumerate(events):
            if call is None:
                sending.clear()
            elif moment == "begin" and call.name == "sendto":
                self.note_request(index, call, sending)
            elif moment == "end" and call.name == "recvfrom" and call.result > 0 and call.words[0] in sending:
                self.note_answer(index, call, sending)

    def note_request(self, index: int, call: Call, sending: dict[str, bytes]) -> None:
        piece, connection = call.bytes(1), call.words[0]
        if not piece.startswith(b"POST /logstores/") and connection not in sending:
            return
        sending[connection] += piece
        if (pack := self.pack_id(sending[connection])) and pack not in self.packets:
            head = HEAD.match(sending[connection])
            assert head is not None, "the sandbox stored a request without a sequence number"
            key, sequence, _ = head.groups()
            self.packets[pack] = Packet(key.decode(), int(sequence), index)

    def note_answer(self, index: int, call: Call, sending: dict[str, bytes]) -> None:
        answer, pack = call.bytes(1), self.pack_id(sending.pop(call.words[0]))
        # SLS refuses a used sequence number, which acknowledges the packet.
        if pack and (answer.startswith(b"HTTP/1.1 200 ") or b"InvalidSequenceId" in answer):
            self.packets[pack].answered = self.packets[pack].answered or index

    def pack_id(self, request: bytes) -> str | None:
        """The pack id, once the request is complete and if it was ever stored."""
        head, _, body = request.partition(b"\r\n\r\n")
        length = re.search(rb"\r\nContent-Length: (\d+)", head)
        if not length or len(body) < int(length[1]):
            return None
        if not (start := HEAD.match(head)):
            return None
        content = unlz4(body, int(start[3]))
        return next((pack for pack in self.packs if bytes([len(pack)]) + pack.encode() in content), None)

    def phases(self, syncs: list[int]) -> dict[str, list[int]]:
        """The places of the recording by how far some packet has come."""
        phases: dict[str, list[int]] = collections.defaultdict(list)
        for packet in self.packets.values():
            phases["sealed and not sent"].append(packet.sent)
            phases["sent and not answered"] += range(packet.sent + 1, (packet.answered or self.end) + 1)
            if packet.answered:
                kept = next((index for index in syncs if index > packet.answered), self.end)
                phases["answered and not noted"] += range(packet.answered + 1, kept + 1)
        return phases

    def copy_at(self, place: int, random: Random, target: pathlib.Path) -> pathlib.Path:
        """A copy of the sandbox's file for a power cut at this place: all packets that were answered, and any part
        of those that were sent."""
        shutil.copytree(self.directory, target)
        likely = random.choice((0, 0.5, 1))
        there = {
            pack for pack, packet in self.packets.items() if packet.answered is not None and packet.answered < place
        }
        there |= {pack for pack, packet in self.packets.items() if packet.sent < place and random.random() < likely}
        database = sqlite3.connect(target / "sls.db")
        for number, pack in database.execute("SELECT id, pack FROM request").fetchall():
            if pack not in there:
                database.execute("DELETE FROM log WHERE request = ?", (number,))
                database.execute("DELETE FROM request WHERE id = ?", (number,))
        close_gaps(database)
        for (key,) in database.execute("SELECT key FROM lane").fetchall():
            numbers = [self.packets[pack].sequence for pack in there if self.packets[pack].key == key]
            if numbers:
                database.execute("UPDATE lane SET sequence = ? WHERE key = ?", (str(max(numbers)), key))
            else:
                database.execute("DELETE FROM lane WHERE key = ?", (key,))
        database.commit()
        database.close()
        return target / "sls.db"


def close_gaps(database: sqlite3.Connection) -> None:
    """Renumbers requests and logs: the sandbox counts by these numbers, so they must have no gaps."""
    last = 0
    for place, (number,) in enumerate(database.execute("SELECT id FROM request ORDER BY id").fetchall(), 1):
        for (log,) in database.execute("SELECT id FROM log WHERE request = ? ORDER BY id", (number,)).fetchall():
            last += 1
            database.execute("UPDATE log SET id = ?, request = ? WHERE id = ?", (last, place, log))
        database.execute("UPDATE request SET id = ?, last_log = ? WHERE id = ?", (place, last, number))
