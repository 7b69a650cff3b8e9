package import System

/// What a server counts: since its start, except for the last five, which are of this moment.
package enum HTTPCounter: Int, CounterKey {
    case accepted
    /// Connections refused because the server was full.
    case refusedFull
    /// Connections refused because their address had its share.
    case refusedPerAddress
    /// Connections refused because they did not come from a trusted proxy, while all must.
    case refusedNoProxy
    /// Connections closed because they did not begin with a valid PROXY header.
    case refusedProxyHeader
    /// Connections that began with a PROXY header.
    case proxyHeaders
    /// Connections closed by the client in the middle of a request or an answer.
    case broken
    /// Pauses in accepting, for lack of descriptors or memory.
    case acceptPauses

    // Answers by the class of their status.
    case answers1xx, answers2xx, answers3xx, answers4xx, answers5xx

    /// Unreadable requests: 400, 414, 417, 431, 501 and 505.
    case malformed
    /// Bodies larger than allowed.
    case tooLarge
    /// Requests refused because the bodies in flight had reached their bound.
    case refusedBodies
    /// Requests refused because the heads in memory had reached their bound.
    case refusedHeads
    /// Answers refused or cut because too many bytes wait for their clients.
    case refusedAnswers

    /// Large requests that worker threads started.
    case largeStarted
    /// Large requests refused because too many waited, or because they waited for too long.
    case largeRefused

    /// TLS handshakes that completed, those of resumed sessions included.
    case handshakes
    case resumptions, failedHandshakes

    // Connections that were closed because they were too slow.
    case headTimeouts, bodyTimeouts, writeTimeouts, idleTimeouts

    case bytesIn, bytesOut

    case openConnections
    /// Large requests that no worker thread has started.
    case largeWaiting
    // Memory that clients make the server hold; see `Budgets`.
    case heldHeads, heldBodies, heldAnswers
}

extension Counts<HTTPCounter> {
    /// All answered requests.
    package var requests: Int {
        self[.answers2xx] + self[.answers3xx] + self[.answers4xx] + self[.answers5xx]
    }
}

/// One loop's counters, which any thread reads. Only the loop writes them, except for refusals that
/// other threads give.
struct LoopCounters: Sendable {
    private let counters = CounterSet<HTTPCounter>()

    var counts: Counts<HTTPCounter> { counters.counts }

    func count(_ key: HTTPCounter, _ more: Int = 1) {
        switch key {
        case .refusedBodies, .refusedAnswers: counters.count(key, more)
        default: counters.countAlone(key, more)
        }
    }

    func countAnswer(status: Int) {
        switch status / 100 {
        case 1: count(.answers1xx)
        case 2: count(.answers2xx)
        case 3: count(.answers3xx)
        case 4: count(.answers4xx)
        default: count(.answers5xx)
        }
    }
}
