import Configuration
import Crypto
import Glibc
import Logs
import Queue
import SLS
import System
import TestSupport
import Testing

@testable import Delivery

@Suite(.timeLimit(.minutes(10))) struct ForwarderTests {
    private let source = MemorySource()

    @Test("Each packet is sent once and acknowledged", arguments: [true, false])
    func delivers(isRecent: Bool) throws {
        let source = MemorySource(isRecent: isRecent)
        let rig = try Rig(source, ScriptedServer())
        for number in 1...40 as ClosedRange<Int64> { source.offer(number) }
        #expect(source.state.wait { $0.acknowledged.count == 40 })
        rig.stop()
        #expect(source.state.now.acknowledged.sorted() == Array(1...40))
        #expect(rig.server.requests.now.count == 40)
        #expect(rig.status.sentPackets == 40)
        #expect(rig.status.sentLogs == 40 * 3 * Samples.logsPerRow)
        #expect(rig.status.latency.count == 40)
        #expect(rig.status.lastSuccess != nil)
        #expect(rig.status.failures.isEmpty)
        #expect(rig.recorder.lines.now.isEmpty, "quiet when healthy")
    }

    @Test("Connections are used again, and never more than requests at once")
    func reusesConnections() throws {
        let rig = try Rig(ScriptedServer()) { $0.transfer.concurrency = 2 }
        for number in 1...50 as ClosedRange<Int64> { rig.source.offer(number) }
        #expect(rig.source.state.wait { $0.acknowledged.count == 50 })
        rig.stop()
        #expect(rig.server.connectionCount.withLock { $0 } <= 2)
    }

    @Test(
        "The body is the logs, the stream's trailer and the pack id",
        arguments: Compression.allCases
    )
    func body(compression: Compression) throws {
        let trailer = GroupTrailer(topic: "t", source: "s", tags: [("env", "device")])
        let rig = try Rig(source, ScriptedServer(), compression: .init(compression))
        source.offer(7, trailer: trailer)
        #expect(source.state.wait { $0.acknowledged == [7] })
        rig.stop()
        let request = rig.server.requests.now[0]
        let raw =
            (0..<3).flatMap { Samples.logs(seed: 700 + $0) } + trailer.bytes
            + GroupTrailer(tags: [("__pack_id__", "0123456789ABCDEF-7")]).bytes
        #expect(request.header("x-log-bodyrawsize") == "\(raw.count)")
        #expect(
            request.header("x-log-compresstype")
                == (compression == .none ? nil : compression.rawValue)
        )
        guard let coding = ContentCoding(compressType: compression.rawValue) else {
            #expect(request.body == raw)
            return
        }
        let inflater = Inflater()
        let inflated = try request.body.withUnsafeBytes { body in
            Array(try inflater.inflate(body, coding, rawBytes: raw.count, limit: .init()))
        }
        #expect(inflated == raw)
    }

    @Test("The request carries the headers of PutLogs and nothing of curl's own")
    func headers() throws {
        let rig = try Rig(ScriptedServer()) { $0.signature = .v1 }
        #expect(rig.source.offerAndWait(1))
        rig.stop()
        let request = rig.server.requests.now[0]
        #expect(request.head.hasPrefix("POST /logstores/app-log/shards/lb HTTP/1.1\r\n"))
        #expect(request.header("host") == "127.0.0.1:\(rig.server.port)")
        #expect(request.header("x-log-project") == "demo-project")
        #expect(request.header("user-agent") == "sluice/test")
        #expect(request.header("content-md5") == Digest.md5Hex([request.body[...]]))
        #expect(request.header("expect") == nil)
        #expect(request.header("accept") == nil)
        #expect(request.header("authorization")?.hasPrefix("LOG testkeyid:") == true)
    }

    @Test("A packet of several megabytes arrives whole")
    func large() throws {
        let rig = try Rig(ScriptedServer(), compression: .none)
        rig.source.offer(1, rows: 4000)
        #expect(rig.source.state.wait { $0.acknowledged == [1] })
        rig.stop()
        let request = rig.server.requests.now[0]
        #expect(request.header("x-log-bodyrawsize") == "\(request.body.count)")
        #expect(request.body.count > 4 << 20)
        #expect(request.header("expect") == nil, "curl would ask first for more than a megabyte")
    }

    @Test("No more requests are in flight than the destination's concurrency")
    func concurrency() throws {
        let arrived = SharedValue(0)
        let gate = SharedValue(false)
        // It begins with fewer, so some are stored first.
        let server = try ScriptedServer { _, number in
            if number < 30 { return .stored }
            arrived.change { $0 += 1 }
            while !gate.now { gate.wait(.milliseconds(20)) { $0 } }
            return .stored
        }
        let rig = try Rig(source, server) { $0.transfer.concurrency = 3 }
        for number in 1...40 as ClosedRange<Int64> { source.offer(number) }
        #expect(arrived.wait { $0 == 3 })
        // A fourth would come at once if it came at all.
        #expect(!arrived.wait(.milliseconds(200)) { $0 > 3 })
        #expect(rig.status.inFlight == 3)
        #expect(source.state.now.handedOver == 34, "one is fetched ahead, the rest can still grow")
        gate.change { $0 = true }
        #expect(source.state.wait { $0.acknowledged.count == 40 })
        rig.stop()
    }

    @Test("A destination that is slow does not delay another")
    func independence() throws {
        let slow = try ScriptedServer { _, _ in .silence }
        let quick = try ScriptedServer()
        let forwarder = try Forwarder.started(
            [
                Samples.destination(port: slow.port, name: "slow"),
                Samples.destination(port: quick.port, name: "quick"),
            ],
            source: source
        )
        for number in 1...20 as ClosedRange<Int64> { source.offer(number, to: "slow") }
        for number in 21...40 as ClosedRange<Int64> { source.offer(number, to: "quick") }
        #expect(source.state.wait { $0.acknowledged.sorted() == Array(21...40) })
        forwarder.stop(within: .zero)
        slow.stop()
        quick.stop()
    }
}

@Suite(.timeLimit(.minutes(10))) struct StoppingTests {
    private let source = MemorySource()

    @Test("Stopping waits for requests in flight, and sends nothing more")
    func drains() throws {
        let gate = SharedValue(false)
        let server = try ScriptedServer { _, _ in
            gate.wait { $0 }
            return .stored
        }
        let rig = try Rig(server) { $0.transfer.concurrency = 1 }
        for number in 1...5 as ClosedRange<Int64> { rig.source.offer(number) }
        #expect(server.requests.wait { $0.count == 1 })
        // The answer comes after the delivery thread was told to stop.
        rig.forwarder.post(.stop(.now + .seconds(20)))
        gate.change { $0 = true }
        rig.forwarder.stop(within: .seconds(20))
        #expect(rig.source.state.now.acknowledged == [1])
        #expect(rig.status.state == .stopped)
        server.stop()
    }

    @Test("A server that does not answer is left at the deadline, and nothing is acknowledged")
    func deadline() throws {
        let server = try ScriptedServer { _, _ in .silence }
        let rig = try Rig(server)
        rig.source.offer(1)
        #expect(server.requests.wait { $0.count == 1 })
        let start = Moment.now
        rig.forwarder.stop(within: .milliseconds(100))
        let taken = Moment.now - start
        #expect(taken >= .milliseconds(100) && taken < .seconds(5).calibrated())
        #expect(rig.source.state.now.acknowledged.isEmpty)
        #expect(rig.status.inFlight == 0)
        server.stop()
    }

    @Test("A forwarder that never started, or is stopped twice, just stops")
    func twice() throws {
        let settings = try Samples.destination(port: 9)
        let forwarder = try Forwarder(
            [settings],
            source: source,
            credentials: CredentialDoor { _ in nil },
            journal: .silent,
            memoryMax: LimitSettings().deliveryBytes
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
            let source = MemorySource()
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
            String(
                decoding: line.prefix { $0 > 0x20 }.map(UInt8.init(truncatingIfNeeded:)),
                as: UTF8.self
            )
        )
    }
    return names
}
