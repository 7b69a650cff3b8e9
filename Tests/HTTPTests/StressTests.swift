import Glibc
import Net
import System
import TestSupport
import Testing

@testable import HTTP

@Suite(.timeLimit(.minutes(10)))
struct StressTests {
    /// Requests of every framing, some answered at once and some later, and what they should come
    /// to.
    private static func script(_ random: inout SeededRandom) -> (bytes: [UInt8], bodies: [[UInt8]])
    {
        var bytes: [UInt8] = []
        var bodies: [[UInt8]] = []
        for _ in 0..<Int.random(in: 1...12, using: &random) {
            let path = Bool.random(using: &random) ? "/echo" : "/later"
            let size = Int.random(
                in: 0...(1 << Int.random(in: 0...17, using: &random)),
                using: &random
            )
            let body = (0..<size).map { _ in UInt8.random(in: 0...255, using: &random) }
            bodies.append(body)
            let start = "POST \(path) HTTP/1.1\r\nHost: a\r\n"
            if Bool.random(using: &random) {
                bytes += Array("\(start)Content-Length: \(size)\r\n\r\n".utf8) + body
                continue
            }
            bytes += Array("\(start)Transfer-Encoding: chunked\r\n\r\n".utf8)
            var rest = body[...]
            while !rest.isEmpty {
                let chunk = rest.prefix(Int.random(in: 1...20_000, using: &random))
                rest = rest.dropFirst(chunk.count)
                bytes += Array("\(String(chunk.count, radix: 16))\r\n".utf8) + chunk
                bytes += Array("\r\n".utf8)
            }
            bytes += Array("0\r\n\r\n".utf8)
        }
        return (bytes, bodies)
    }

    @Test(
        "Many clients that send in odd pieces, and some that disconnect, all get their own answers",
        arguments: [false, true]
    )
    func manyClients(securely: Bool) throws {
        let server = try securely ? TestServer.securely() : TestServer()
        let isOver = Locked(false)
        let answering = try Worker("answering") { [held = server.held] in
            while !isOver.withLock({ $0 }) {
                guard let request = held.next(within: .milliseconds(20)) else { continue }
                request.responder.send(Response(status: 200, body: request.body))
            }
        }
        let wrong = Locked(0)
        let port = server.server.address.port
        let clients = try (0..<4).map { number in
            try Worker("client") {
                var random = SeededRandom(seed: UInt64(number))
                for round in 0..<12 {
                    guard let client = try? TestConnection(port: port),
                        !securely || (try? client.secure()) != nil
                    else {
                        wrong.withLock { $0 += 1 }
                        return
                    }
                    let (bytes, bodies) = Self.script(&random)
                    let leavesEarly = round % 4 == 3
                    let sending = try? Worker("sending") { [client = SendableClient(client)] in
                        var random = SeededRandom(seed: UInt64(round))
                        var rest = bytes[...]
                        while !rest.isEmpty {
                            let piece = rest.prefix(Int.random(in: 1...40_000, using: &random))
                            client.client.send(Array(piece))
                            rest = rest.dropFirst(piece.count)
                            if leavesEarly, rest.count < bytes.count / 2 { break }
                        }
                    }
                    // A client's TLS is for one thread at a time.
                    if leavesEarly || securely { sending?.join() }
                    if leavesEarly {
                        client.reset()
                        continue
                    }
                    for body in bodies where client.answer()?.body != body {
                        wrong.withLock { $0 += 1 }
                    }
                    if !securely { sending?.join() }
                }
            }
        }
        for client in clients { client.join() }
        #expect(wrong.withLock { $0 } == 0)
        #expect(server.eventually { $0[.openConnections] == 0 && $0[.heldBodies] == 0 })
        isOver.withLock { $0 = true }
        answering.join()
        server.server.stop(within: .seconds(5))
    }

    @Test("The server survives mutated requests", arguments: 0..<4 as Range<UInt64>)
    func mutations(seed: UInt64) throws {
        let server = try TestServer {
            $0.headTime = .milliseconds(100)
            $0.bodyTime = .milliseconds(100)
            $0.lingerTime = .milliseconds(100)
        }
        var random = SeededRandom(seed: seed)
        for _ in 0..<100 {
            let (bytes, _) = Self.script(&random)
            let client = try server.client()
            client.send(Array(bytes.prefix(4000)).mutated(using: &random))
            if Bool.random(using: &random) { client.finishWriting() }
            if Bool.random(using: &random) { client.reset() }
        }
        while server.held.next(within: .milliseconds(1)) != nil {}
        #expect(
            server.eventually { counters in
                while server.held.next(within: .zero) != nil {}
                return counters[.openConnections] == 0 && counters[.heldBodies] == 0
            }
        )
        let client = try server.client(sending: get("/fine"))
        #expect(client.answer()?.text == "/fine 0")
    }
}
