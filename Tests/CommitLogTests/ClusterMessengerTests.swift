import CommitLog
import System
import TestSupport
import Testing

/// What every engine's messages do.
@Suite(.timeLimit(.minutes(10))) struct ClusterMessengerTests {
    /// A gateway that listens.
    final class Listener {
        let messenger: any ClusterMessenger
        private let found: SharedValue<[[UInt8]]>

        init(_ node: String, _ cluster: any ClusterEngine) throws {
            messenger = try cluster.messenger(for: node, JournalRecorder().journal)
            let found = SharedValue<[[UInt8]]>([])
            self.found = found
            try messenger.listen { part in found.change { $0.append(part) } }
        }

        deinit { messenger.stop() }

        func waitFor(_ parts: [[UInt8]]) -> Bool {
            found.wait { found in parts.allSatisfy { found.contains($0) } }
        }

        var received: [[UInt8]] { found.now }
    }

    /// Sends until it arrives. No engine tells when it has begun to listen.
    func send(_ part: [UInt8], _ from: Listener, to node: String?, _ to: Listener) -> Bool {
        eventually {
            try? from.messenger.send([part], to: node)
            return to.received.contains(part)
        }
    }

    @Test("A message reaches the gateways of a node, or all that listen", arguments: TestEngine.all)
    func messages(_ engine: TestEngine) throws {
        let cluster = TestCluster(engine)
        let (a, b) = (try Listener("a", try cluster.view()), try Listener("b", try cluster.view()))
        #expect(send([1], a, to: nil, b))
        #expect(send([2], b, to: "a", a))
        #expect(!b.received.contains([2]))
        #expect(send([3], b, to: nil, a))
        #expect(eventually { a.messenger.problem == nil && b.messenger.problem == nil })
        let large = (0..<40).map { index in
            [UInt8](repeating: UInt8(index), count: a.messenger.partBytesMax)
        }
        try a.messenger.send(large, to: "b")
        #expect(b.waitFor(large))
        #expect(!a.received.contains(large[0]))
    }

    @Test("A gateway that has stopped hears nothing", arguments: TestEngine.all)
    func stopping(_ engine: TestEngine) throws {
        let cluster = TestCluster(engine)
        let (a, b) = (try Listener("a", try cluster.view()), try Listener("b", try cluster.view()))
        let c = try Listener("c", try cluster.view())
        #expect(send([1], a, to: nil, b))
        b.messenger.stop()
        #expect(send([2], a, to: nil, c))
        #expect(!b.received.contains([2]))
    }

    @Test("Parts make the message again, in any order, and an unfinished one is forgotten")
    func parts() {
        var parts = MessageParts()
        let message = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
        let now = Moment.now
        let cut = MessageParts.cut(message, to: 1024)
        #expect(cut.allSatisfy { $0.count <= 1024 })
        for part in cut.dropFirst().reversed() { #expect(parts.add(part, now) == nil) }
        #expect(parts.add(cut[1], now) == nil)
        #expect(parts.add(cut[0], now) == message)
        #expect(MessageParts.cut([], to: 1024).compactMap { parts.add($0, now) } == [[]])

        for part in cut.dropFirst() { #expect(parts.add(part, now) == nil) }
        let other = MessageParts.cut(message, to: 5000)
        let later = now + .seconds(11)
        #expect(other.compactMap { parts.add($0, later) } == [message])
        #expect(parts.add(cut[0], later) == nil)
    }

    @Test("What is no part of a message is dropped")
    func nonsense() {
        var parts = MessageParts()
        var generator = SystemRandomNumberGenerator()
        for length in 0..<200 {
            let bytes = (0..<length).map { _ in UInt8.random(in: 0...255, using: &generator) }
            _ = parts.add(bytes, .now)
            _ = parts.add(Array(bytes.prefix(8)) + [0, 0, 0, 1, 0, 0, 0, 2] + bytes, .now)
        }
    }
}
