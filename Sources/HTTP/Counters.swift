import Synchronization

extension HTTPServer {
    /// Counters since the start and current figures, over all loops.
    package struct Counters: Sendable, Equatable {
        package var connectionsOpen = 0
        package var connectionsAccepted = 0
        /// Refused because the server was full.
        package var connectionsRefusedFull = 0
        /// Refused because their address had its share.
        package var connectionsRefusedPerAddress = 0
        /// Refused because they did not come from a trusted proxy, while all connections must.
        package var connectionsRefusedNoProxy = 0
        /// Closed because they did not begin with a valid PROXY header.
        package var connectionsRefusedProxyHeader = 0
        /// Connections that began with a PROXY header.
        package var proxyHeaders = 0
        /// Closed by the client in the middle of a request or an answer.
        package var connectionsBroken = 0
        /// Pauses in accepting, for lack of descriptors or memory.
        package var acceptPauses = 0
        /// Answers by status class; the first is 1xx.
        package var answersByClass = [0, 0, 0, 0, 0]
        /// Unreadable requests: 400, 414, 417, 431, 501 and 505.
        package var malformed = 0
        /// Requests whose body was larger than allowed.
        package var tooLarge = 0
        /// Requests refused because the bodies in flight had reached their bound.
        package var refusedInFlight = 0
        /// Requests refused because the heads in memory had reached their bound.
        package var refusedHeads = 0
        /// Answers refused or cut because too many bytes wait for their clients.
        package var refusedAnswers = 0
        /// Completed TLS handshakes, the resumed sessions among them, and failed handshakes.
        package var tlsHandshakes = 0
        package var tlsResumptions = 0
        package var tlsFailures = 0
        package var headTimeouts = 0
        package var bodyTimeouts = 0
        package var writeTimeouts = 0
        package var idleTimeouts = 0
        package var bytesIn = 0
        package var bytesOut = 0
        package var heldHeadBytes = 0
        package var inFlightBodyBytes = 0
        /// Large requests that worker threads started, that were refused unstarted, and that wait now.
        package var largeRequests = 0
        package var largeRequestsRefused = 0
        package var largeRequestsWaiting = 0
        package var unsentAnswerBytes = 0

        /// All answered requests.
        package var requests: Int { answersByClass[1...].reduce(0, +) }
    }
}

/// One loop's counters. Any thread reads them; only the loop writes them, except the shared ones.
final class LoopCounters: Sendable {
    let accepted = SingleWriterCounter()
    let refusedFull = SingleWriterCounter()
    let refusedPerAddress = SingleWriterCounter()
    let refusedNoProxy = SingleWriterCounter()
    let refusedProxyHeader = SingleWriterCounter()
    let proxyHeaders = SingleWriterCounter()
    let broken = SingleWriterCounter()
    let acceptPauses = SingleWriterCounter()
    let answers1xx = SingleWriterCounter()
    let answers2xx = SingleWriterCounter()
    let answers3xx = SingleWriterCounter()
    let answers4xx = SingleWriterCounter()
    let answers5xx = SingleWriterCounter()
    let malformed = SingleWriterCounter()
    let tooLarge = SingleWriterCounter()
    let refusedInFlight = SharedCounter()
    let refusedHeads = SingleWriterCounter()
    let refusedAnswers = SharedCounter()
    let tlsHandshakes = SingleWriterCounter()
    let tlsResumptions = SingleWriterCounter()
    let tlsFailures = SingleWriterCounter()
    let headTimeouts = SingleWriterCounter()
    let bodyTimeouts = SingleWriterCounter()
    let writeTimeouts = SingleWriterCounter()
    let idleTimeouts = SingleWriterCounter()
    let bytesIn = SingleWriterCounter()
    let bytesOut = SingleWriterCounter()

    func countAnswer(status: Int) {
        switch status / 100 {
        case 1: answers1xx.add()
        case 2: answers2xx.add()
        case 3: answers3xx.add()
        case 4: answers4xx.add()
        default: answers5xx.add()
        }
    }

    func add(to counters: inout HTTPServer.Counters) {
        counters.connectionsAccepted += accepted.now
        counters.connectionsRefusedFull += refusedFull.now
        counters.connectionsRefusedPerAddress += refusedPerAddress.now
        counters.connectionsRefusedNoProxy += refusedNoProxy.now
        counters.connectionsRefusedProxyHeader += refusedProxyHeader.now
        counters.proxyHeaders += proxyHeaders.now
        counters.connectionsBroken += broken.now
        counters.acceptPauses += acceptPauses.now
        counters.answersByClass[0] += answers1xx.now
        counters.answersByClass[1] += answers2xx.now
        counters.answersByClass[2] += answers3xx.now
        counters.answersByClass[3] += answers4xx.now
        counters.answersByClass[4] += answers5xx.now
        counters.malformed += malformed.now
        counters.tooLarge += tooLarge.now
        counters.refusedInFlight += refusedInFlight.now
        counters.refusedHeads += refusedHeads.now
        counters.refusedAnswers += refusedAnswers.now
        counters.tlsHandshakes += tlsHandshakes.now
        counters.tlsResumptions += tlsResumptions.now
        counters.tlsFailures += tlsFailures.now
        counters.headTimeouts += headTimeouts.now
        counters.bodyTimeouts += bodyTimeouts.now
        counters.writeTimeouts += writeTimeouts.now
        counters.idleTimeouts += idleTimeouts.now
        counters.bytesIn += bytesIn.now
        counters.bytesOut += bytesOut.now
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
