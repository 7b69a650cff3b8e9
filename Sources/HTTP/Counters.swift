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

/// One loop's counters, which any thread reads; other threads write only the refusals they give.
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

/// Counts answers by route and status. Both sets are small and fixed, so each pair has its own
/// counter, and a request costs one addition.
package final class AnswerCounters: Sendable {
    package struct Count: Sendable, Equatable {
        package let route: String
        package let status: String
        package let answers: Int
    }

    /// The statuses that this program sends; any other counts as "other".
    static let statuses = [
        200, 201, 202, 204, 304, 400, 401, 403, 404, 405, 406, 408, 409, 410, 411, 412, 413, 414,
        415, 416, 417, 422, 428, 429, 431, 500, 501, 502, 503, 504, 505, 507,
    ]
    private static let names = statuses.map { "\($0)" } + ["other"]
    /// The index of each status's counter, by status.
    private static let places: [UInt8] = (0..<600).map { status in
        UInt8(statuses.firstIndex(of: status) ?? statuses.count)
    }

    private let labels: [String]
    private let counts: CounterList

    /// `Response.label` is an index into the labels; the first label serves answers without one.
    package init(labels: [String]) {
        self.labels = labels
        counts = CounterList(count: labels.count * Self.names.count)
    }

    package func count(_ response: Response) {
        let isKnown = Self.places.indices.contains(response.status)
        let place = isKnown ? Int(Self.places[response.status]) : Self.statuses.count
        let label = labels.indices.contains(response.label) ? response.label : 0
        counts.add(1, at: label * Self.names.count + place)
    }

    /// Statuses that alerts watch are shown from the start: an increase is visible only from 0 on.
    private static let shownAlways: Set = ["200", "401", "429", "500", "503"]

    /// For each route, the statuses that alerts watch and all others that occurred.
    package var all: [Count] {
        labels.enumerated().flatMap { label, route in
            Self.names.enumerated().compactMap { place, status in
                let answers = counts[label * Self.names.count + place]
                guard answers > 0 || Self.shownAlways.contains(status) else { return nil }
                return Count(route: route, status: status, answers: answers)
            }
        }
    }
}
