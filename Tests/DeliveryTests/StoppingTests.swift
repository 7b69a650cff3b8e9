import Glibc
import System
import TestSupport
import Testing

@testable import Delivery

@Suite(.timeLimit(.minutes(1))) struct StoppingTests {
    @Test("Stopping waits for requests in flight, and sends nothing more")
    func drains() throws {
        let source = try MemorySource()
        let gate = SharedValue(false)
        let server = try ScriptedServer { _, _ in
            gate.wait { $0 }
            return .stored
        }
        let rig = try Rig(source, server) { $0.concurrency = 1 }
        for number in 1...5 as ClosedRange<Int64> { source.offer(number) }
        #expect(server.requests.wait { $0.count == 1 })
        let opener = try Worker("test-opener") {
            // The stop below has begun to wait, or soon will: either way one packet is in flight.
            usleep(50_000)
            gate.change { $0 = true }
        }
        rig.forwarder.stop(within: .seconds(20))
        opener.join()
        #expect(source.state.now.acknowledged == [1])
        #expect(rig.status.state == .stopped)
        server.stop()
    }

    @Test("A server that does not answer is left at the deadline, and nothing is acknowledged")
    func deadline() throws {
        let source = try MemorySource()
        let server = try ScriptedServer { _, _ in .silence }
        let rig = try Rig(source, server)
        source.offer(1)
        #expect(server.requests.wait { $0.count == 1 })
        let start = Moment.now
        rig.forwarder.stop(within: .milliseconds(100))
        let taken = Moment.now - start
        #expect(taken >= .milliseconds(100) && taken < .seconds(5).calibrated())
        #expect(source.state.now.acknowledged.isEmpty)
        #expect(rig.status.inFlight == 0)
        server.stop()
    }

    @Test("A forwarder that never started, or is stopped twice, just stops")
    func twice() throws {
        let source = try MemorySource()
        let settings = try Samples.destination(port: 9)
        let forwarder = try Forwarder(
            [settings],
            source: source,
            credentials: { _ in nil },
            journal: .silent
        )
        forwarder.stop(within: .seconds(1))
        try forwarder.start()
        forwarder.stop(within: .seconds(1))
        forwarder.stop(within: .seconds(1))
        // Packets may still come from the queue's thread.
        source.offer(1)
    }

    @Test("No delivery thread stays behind")
    func threads() async throws {
        await #expect(processExitsWith: .success) {
            let source = try MemorySource()
            let server = try ScriptedServer()
            let rig = try Rig(source, server)
            source.offer(1)
            source.state.wait { $0.acknowledged == [1] }
            guard threadNames().contains("delivery") else { exit(2) }
            rig.stop()
            exit(threadNames().contains("delivery") ? 1 : 0)
        }
    }
}

/// The names of this process's threads.
private func threadNames() -> Set<String> {
    guard let directory = opendir("/proc/self/task") else { return [] }
    defer { closedir(directory) }
    var names: Set<String> = []
    while let entry = readdir(directory) {
        let id = withUnsafeBytes(of: entry.pointee.d_name) { name in
            String(decoding: name.prefix { $0 != 0 }, as: UTF8.self)
        }
        guard let file = fopen("/proc/self/task/\(id)/comm", "r") else { continue }
        var line = [CChar](repeating: 0, count: 32)
        fgets(&line, 32, file)
        fclose(file)
        names.insert(
            String(decoding: line.prefix { $0 > 0x20 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        )
    }
    return names
}
