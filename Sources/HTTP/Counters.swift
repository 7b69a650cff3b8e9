import Synchronization

extension HTTPServer {
    /// Counters since the start and current figures, over all loops.
    package struct Counters: Sendable, Equatable {
        package var connections = ConnectionCounters()
        /// Answers by status class; the first is 1xx.
        package var answersByClass = [0, 0, 0, 0, 0]
        package var refusals = RefusalCounters()
        package var largeRequests = LargeRequestCounters()
        package var tls = TLSCounters()
        package var timeouts = TimeoutCounters()
        package var held = HeldBytes()
        package var bytesIn = 0
        package var bytesOut = 0

        /// All answered requests.
        package var requests: Int { answersByClass[1...].reduce(0, +) }
    }

    package struct ConnectionCounters: Sendable, Equatable {
        /// Open now.
        package var open = 0
        package var accepted = 0
        /// Refused because the server was full.
        package var refusedFull = 0
        /// Refused because their address had its share.
        package var refusedPerAddress = 0
        /// Refused because they did not come from a trusted proxy, while all connections must.
        package var refusedNoProxy = 0
        /// Closed because they did not begin with a valid PROXY header.
        package var refusedProxyHeader = 0
        /// Began with a PROXY header.
        package var proxyHeaders = 0
        /// Closed by the client in the middle of a request or an answer.
        package var broken = 0
        /// Pauses in accepting, for lack of descriptors or memory.
        package var acceptPauses = 0
    }

    /// Requests and answers that the server itself refused.
    package struct RefusalCounters: Sendable, Equatable {
        /// Unreadable requests: 400, 414, 417, 431, 501 and 505.
        package var malformed = 0
        /// Bodies larger than allowed.
        package var tooLarge = 0
        /// Requests refused because the bodies in flight had reached their bound.
        package var bodies = 0
        /// Requests refused because the heads in memory had reached their bound.
        package var heads = 0
        /// Answers refused or cut because too many bytes wait for their clients.
        package var answers = 0
    }

    package struct LargeRequestCounters: Sendable, Equatable {
        /// Started by worker threads.
        package var started = 0
        /// Refused because too many waited, or because they waited for too long.
        package var refused = 0
        /// Waiting now.
        package var waiting = 0
    }

    /// TLS handshakes.
    package struct TLSCounters: Sendable, Equatable {
        /// Completed, resumed sessions included.
        package var handshakes = 0
        package var resumptions = 0
        package var failures = 0
    }

    /// Connections that were closed because they were too slow.
    package struct TimeoutCounters: Sendable, Equatable {
        package var head = 0
        package var body = 0
        package var write = 0
        package var idle = 0
    }

    /// Memory that clients make the server hold now; see `Budgets`.
    package struct HeldBytes: Sendable, Equatable {
        package var heads = 0
        package var bodies = 0
        package var answers = 0
    }
}

/// One loop's counters, in the groups of `HTTPServer.Counters`. Any thread reads them. Only the loop writes them, except
/// the shared ones.
final class LoopCounters: Sendable {
    struct ConnectionEvents: ~Copyable, Sendable {
        let accepted = SingleWriterCounter()
        let refusedFull = SingleWriterCounter()
        let refusedPerAddress = SingleWriterCounter()
        let refusedNoProxy = SingleWriterCounter()
        let refusedProxyHeader = SingleWriterCounter()
        let proxyHeaders = SingleWriterCounter()
        let broken = SingleWriterCounter()
        let acceptPauses = SingleWriterCounter()
    }

    struct AnswerEvents: ~Copyable, Sendable {
        let class1xx = SingleWriterCounter()
        let class2xx = SingleWriterCounter()
        let class3xx = SingleWriterCounter()
        let class4xx = SingleWriterCounter()
        let class5xx = SingleWriterCounter()
    }

    struct RefusalEvents: ~Copyable, Sendable {
        let malformed = SingleWriterCounter()
        let tooLarge = SingleWriterCounter()
        let bodies = SharedCounter()
        let heads = SingleWriterCounter()
        let answers = SharedCounter()
    }

    struct TLSEvents: ~Copyable, Sendable {
        let handshakes = SingleWriterCounter()
        let resumptions = SingleWriterCounter()
        let failures = SingleWriterCounter()
    }

    struct TimeoutEvents: ~Copyable, Sendable {
        let head = SingleWriterCounter()
        let body = SingleWriterCounter()
        let write = SingleWriterCounter()
        let idle = SingleWriterCounter()
    }

    let connections = ConnectionEvents()
    let answers = AnswerEvents()
    let refusals = RefusalEvents()
    let tls = TLSEvents()
    let timeouts = TimeoutEvents()
    let bytesIn = SingleWriterCounter()
    let bytesOut = SingleWriterCounter()

    func countAnswer(status: Int) {
        switch status / 100 {
        case 1: answers.class1xx.add()
        case 2: answers.class2xx.add()
        case 3: answers.class3xx.add()
        case 4: answers.class4xx.add()
        default: answers.class5xx.add()
        }
    }

    func add(to sum: inout HTTPServer.Counters) {
        sum.connections.accepted += connections.accepted.now
        sum.connections.refusedFull += connections.refusedFull.now
        sum.connections.refusedPerAddress += connections.refusedPerAddress.now
        sum.connections.refusedNoProxy += connections.refusedNoProxy.now
        sum.connections.refusedProxyHeader += connections.refusedProxyHeader.now
        sum.connections.proxyHeaders += connections.proxyHeaders.now
        sum.connections.broken += connections.broken.now
        sum.connections.acceptPauses += connections.acceptPauses.now
        sum.answersByClass[0] += answers.class1xx.now
        sum.answersByClass[1] += answers.class2xx.now
        sum.answersByClass[2] += answers.class3xx.now
        sum.answersByClass[3] += answers.class4xx.now
        sum.answersByClass[4] += answers.class5xx.now
        sum.refusals.malformed += refusals.malformed.now
        sum.refusals.tooLarge += refusals.tooLarge.now
        sum.refusals.bodies += refusals.bodies.now
        sum.refusals.heads += refusals.heads.now
        sum.refusals.answers += refusals.answers.now
        sum.tls.handshakes += tls.handshakes.now
        sum.tls.resumptions += tls.resumptions.now
        sum.tls.failures += tls.failures.now
        sum.timeouts.head += timeouts.head.now
        sum.timeouts.body += timeouts.body.now
        sum.timeouts.write += timeouts.write.now
        sum.timeouts.idle += timeouts.idle.now
        sum.bytesIn += bytesIn.now
        sum.bytesOut += bytesOut.now
    }
}

/// A counter that several threads write.
struct SharedCounter: ~Copyable, Sendable {
    private let value = Atomic<Int>(0)

    var now: Int { value.load(ordering: .relaxed) }

    func add() { value.wrappingAdd(1, ordering: .relaxed) }
}

/// A counter with one writer: adding needs no locked instruction.
struct SingleWriterCounter: ~Copyable, Sendable {
    private let value = Atomic<Int>(0)

    var now: Int { value.load(ordering: .relaxed) }

    func add(_ count: Int = 1) {
        value.store(value.load(ordering: .relaxed) &+ count, ordering: .relaxed)
    }
}
