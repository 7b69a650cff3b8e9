import Net
import System
import TestSupport
import Testing

@testable import HTTP

@Suite(.timeLimit(.minutes(1)))
struct StreamStressTests {
    @Test("Writers on many threads and clients that come and go leave nothing behind")
    func manyWriters() throws {
        let server = try TestServer()
        let wrong = Locked(0)
        let writing = try Worker("writing") { [held = server.held] in
            var workers: [Worker] = []
            for _ in 0..<40 {
                let request = held.next()
                guard let worker = try? Worker("writer", { Self.count(to: 200, for: request) })
                else { continue }
                workers.append(worker)
            }
            for worker in workers { worker.join() }
        }
        let port = server.server.address.port
        let readers = try (0..<4).map { number in
            try Worker("reader") {
                for round in 0..<10 {
                    guard let client = try? TestConnection(port: port) else { continue }
                    client.send(StreamTests.get)
                    _ = client.answer()
                    let leavesAt = (round + number) % 3 == 0 ? 50 : nil
                    var next = 0
                    while next != leavesAt, let chunk = client.chunk(), !chunk.isEmpty {
                        if chunk != "\(next)" { wrong.withLock { $0 += 1 } }
                        next += 1
                    }
                    if leavesAt == nil, next != 200 { wrong.withLock { $0 += 1 } }
                    if round.isMultiple(of: 2) { client.reset() }
                }
            }
        }
        for reader in readers { reader.join() }
        writing.join()
        #expect(wrong.withLock { $0 } == 0)
        #expect(server.eventually { $0[.openConnections] == 0 })
    }

    private static func count(
        to end: Int,
        for request: (path: String, body: [UInt8], responder: Responder)
    ) {
        guard let stream = request.responder.stream(Response(status: 200)) else { return }
        for number in 0..<end { _ = stream.write(Array("\(number)".utf8)) }
        stream.finish()
    }
}
