import Net
import System
import TestSupport
import Testing

@testable import HTTP

/// Limits that hold for several servers together.
@Suite(.timeLimit(.minutes(10)))
struct InFlightTests {
    @Test("Servers share one connection limit, and each counts its own connections")
    func connections() throws {
        let common = ConnectionCount(limit: 3, perNeighbourhood: 2)
        let one = ConnectionCount(limit: 3, perNeighbourhood: 2, within: common)
        let two = ConnectionCount(limit: 3, perNeighbourhood: 2, within: common)
        let here = try neighbourhood("192.0.2.1")
        let there = try neighbourhood("192.0.2.2")
        #expect(one.add(from: here) == .admitted)
        #expect(two.add(from: here) == .admitted)
        #expect(one.add(from: here) == .addressFull)
        #expect(two.add(from: there) == .admitted)
        #expect(one.add(from: there) == .full)
        #expect([one.count, two.count, common.count] == [1, 2, 3])
        two.remove(from: here)
        #expect(one.add(from: here) == .admitted)
        #expect([one.count, two.count, common.count] == [2, 1, 3])
    }

    @Test("Bytes that fit only one of two budgets are charged to neither")
    func oneBoundAlone() throws {
        let common = ByteBudget(limit: 1000)
        let own = ByteBudget(limit: 100, within: common)
        let here = try neighbourhood("192.0.2.1")
        #expect(!own.take(200, for: nil, largest: 0))
        #expect(!own.take(60, for: here, largest: 0), "one address has half of the own bound")
        #expect(own.inUse == 0 && common.inUse == 0)
        #expect(common.take(950, for: nil, largest: 0))
        #expect(!own.take(90, for: nil, largest: 0))
        #expect(own.inUse == 0 && common.inUse == 950)
        #expect(own.take(50, for: here, largest: 0))
        own.giveBack(50, of: here)
        #expect(own.inUse == 0 && common.inUse == 950)
    }

    @Test("Servers share one body budget, and a body given back makes room for all")
    func bodies() throws {
        let common = ByteBudget(limit: 100)
        let one = ByteBudget(limit: 100, within: common)
        let two = ByteBudget(limit: 100, within: common)
        let here = try neighbourhood("192.0.2.1")
        let there = try neighbourhood("192.0.2.2")
        #expect(one.take(40, for: here, largest: 0))
        #expect(!two.hasRoom(for: 20, of: here, largest: 0))
        #expect(!two.take(20, for: here, largest: 0))
        #expect(two.take(50, for: there, largest: 0))
        #expect([one.inUse, two.inUse, common.inUse] == [40, 50, 90])
        one.giveBack(40, of: here)
        #expect(two.take(20, for: here, largest: 0))
        #expect([one.inUse, two.inUse, common.inUse] == [0, 70, 70])
    }

    @Test("Only the received bytes of a body are charged, not its declared length")
    func declaredIsNotTaken() throws {
        let server = try TestServer { $0.inFlightBodyBytes = 64 << 20 }
        var clients: [TestConnection] = []
        for _ in 0..<7 {
            let client = try server.client()
            client.send(post("/later", 16 << 20) + String(repeating: "x", count: 40 << 10))
            clients.append(client)
        }
        #expect(server.eventually { $0[.heldBodies] == 7 * 40 << 10 })
        let other = try server.client(sending: post("/echo", 3) + "abc")
        #expect(other.answer()?.text == "abc")
    }

    @Test("A declared body without room is refused before it is read")
    func noRoom() throws {
        let server = try TestServer { $0.inFlightBodyBytes = 1000 }
        let first = try server.client()
        first.send(post("/later", 800) + String(repeating: "y", count: 800))
        let held = server.held.next()
        #expect(server.server.counters[.heldBodies] == 800)
        let second = try server.client()
        let body = String(repeating: "x", count: 300)
        second.send(post("/echo", 300))
        #expect(second.answer()?.status == 503)
        second.send(body)
        let chunked = try server.client()
        chunked.send(
            "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "12c\r\n\(body)\r\n0\r\n\r\n"
        )
        #expect(chunked.answer()?.status == 503)
        #expect(server.server.counters[.refusedBodies] == 2)
        held.responder.send(Response(status: 200))
        #expect(first.answer()?.status == 200)
        second.send(post("/echo", 300) + body)
        #expect(second.answer()?.text == body)
        #expect(server.server.counters[.heldBodies] == 0)
    }

    @Test("A body that runs out of room is refused and gives back its share")
    func noRoomInTheMiddle() throws {
        let server = try TestServer { $0.inFlightBodyBytes = 4 << 20 }
        let part = String(repeating: "x", count: 2 << 20)
        let first = try server.client(sending: post("/echo", 3 << 20) + part)
        #expect(server.eventually { $0[.heldBodies] == 2 << 20 })
        let second = try server.client(sending: post("/later", 2 << 20))
        #expect(server.eventually { $0[.bytesIn] > 2 << 20 })
        first.send(String(repeating: "x", count: 512 << 10))
        #expect(server.eventually { $0[.heldBodies] == 5 << 19 })
        second.send(part)
        let answer = try #require(second.answer())
        #expect(answer.status == 503)
        #expect(answer["connection"] == "close")
        #expect(second.isEnded())
        #expect(server.eventually { $0[.heldBodies] == 5 << 19 })
        first.send(String(repeating: "x", count: 512 << 10))
        #expect(first.answer()?.body.count == 3 << 20)
    }

    @Test("One neighbourhood gets half of the budget, or one whole body", arguments: [64, 16])
    func share(mebibytes: Int) throws {
        let budget = ByteBudget(limit: mebibytes << 20)
        let expected = max(mebibytes / 2, 16) << 20
        let neighbour = try neighbourhood("192.0.2.1")
        #expect(budget.take(expected, for: neighbour, largest: 16 << 20))
        #expect(!budget.take(1, for: neighbour, largest: 16 << 20))
        let other = try neighbourhood("192.0.2.2")
        #expect(budget.take(1, for: other, largest: 16 << 20) == (mebibytes == 64))
        budget.giveBack(expected, of: neighbour)
        #expect(budget.take(1, for: neighbour, largest: 16 << 20))
    }

    @Test("Waiting pipelined requests count as bodies in flight")
    func waitingInput() throws {
        let server = try TestServer { $0.inFlightBodyBytes = 80 << 10 }
        let client = try server.client()
        let size = 30 << 10
        let body = String(repeating: "x", count: size)
        client.send(
            "GET /later HTTP/1.1\r\nHost: a\r\n\r\n"
                + "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: \(size)\r\n\r\n\(body)"
        )
        let request = server.held.next()
        #expect(server.eventually { $0[.bytesIn] > size })
        #expect(server.eventually { $0[.heldBodies] >= size || $0[.heldBodies] == 0 })
        request.responder.send(Response(status: 200))
        #expect(client.answer()?.status == 200)
        #expect(client.answer()?.body.count == size)
        #expect(server.server.counters[.heldBodies] == 0)
    }

    @Test(
        "Pipelined requests that find no room are not read, and the connection ends after the answer"
    )
    func noRoomToWait() throws {
        let server = try TestServer { $0.inFlightBodyBytes = 20 << 10 }
        let client = try server.client()
        let body = String(repeating: "x", count: 30 << 10)
        client.send(
            "GET /later HTTP/1.1\r\nHost: a\r\n\r\n"
                + "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: \(30 << 10)\r\n\r\n\(body)"
        )
        let request = server.held.next()
        request.responder.send(Response(status: 200))
        let answer = try #require(client.answer())
        #expect(answer.status == 200)
        // The second request may have come after the first was answered: then it is refused by
        // itself.
        if answer["connection"] == nil {
            #expect(client.answer()?.status == 503)
        } else {
            #expect(client.isEnded())
        }
        #expect(server.eventually { $0[.heldBodies] == 0 })
    }
}
