import Configuration
import Queue
import SLS
package import System

/// What a destination is doing and has done since the start.
package struct DestinationStatus: Sendable {
    package enum State: Sendable, Equatable {
        case running
        /// Nothing is sent until a credential comes; the queue keeps arriving logs.
        case waitingForCredential(reason: String)
        /// One request at a time tries; the next one goes then, or one is on its way.
        case paused(reason: String, until: WallTime?)
        /// An operator holds it; the queue keeps arriving logs.
        case held
        case stopped
    }

    package let name: String
    /// Nil for a kind without projects.
    package internal(set) var project: String?
    /// All endpoints, in the operator's order.
    package internal(set) var endpoints: [String]
    /// The one in use.
    package internal(set) var endpoint: String
    /// Why it is not the first; nil while it is.
    package internal(set) var endpointReason: String?
    /// Of the last answer, or of the proxy. Empty before the first answer.
    package internal(set) var address = ""
    /// The resolver that answered this address; nil if curl resolved the name, or a proxy does.
    package internal(set) var resolver: String?
    /// SLS's clock minus the host's, as requests are signed.
    package internal(set) var clockOffset: Duration

    /// The same, if logs with this host's time may be refused for it.
    package internal(set) var hostIsWrongBy: Duration?
    /// Lone logs that were refused meanwhile, and wait until the clock is set.
    package internal(set) var awaitingClock = 0

    package internal(set) var state = State.stopped
    /// Requests that may be in flight, to all logstores together.
    package internal(set) var limit = 0
    package internal(set) var inFlight = 0
    /// Packets that delivery has from the queue, those in flight included.
    package internal(set) var leased = 0
    /// Bytes in memory: packets that wait with their content, and bodies under way.
    package internal(set) var memoryBytes = 0
    /// How often a request began to wait for room in memory.
    package internal(set) var memoryWaits = 0
    /// Requests a second while the project's quota paces them, to all destinations of the project.
    package internal(set) var rate: Double?

    /// Packets that the queue could not read any more. The rest of them comes in new packets.
    package internal(set) var voided = 0
    /// Packets given back to be taken apart, halves of them included.
    package internal(set) var isolated = 0
    /// Packets given back to be dropped for want of a permission.
    package internal(set) var discarded = 0
    /// Packets that needed another lane.
    package internal(set) var relaned = 0
    /// Requests whose packet may be stored though no answer said so.
    package internal(set) var unknownOutcomes = 0
    /// Packets that turned out to be stored by an earlier request.
    package internal(set) var storedBefore = 0
    /// Requests that were signed again for SLS's clock.
    package internal(set) var resigned = 0

    package internal(set) var sentPackets = 0
    package internal(set) var sentLogs = 0
    /// Before compression, without the LogGroup's trailer.
    package internal(set) var sentRawBytes = 0
    /// Request bodies on the wire, of packets that were stored.
    package internal(set) var sentWireBytes = 0

    package internal(set) var failures: [DeliveryFailure.Kind: Int] = [:]
    /// The same failures, as SLS's SDKs call them.
    package internal(set) var results: [ProducerResult: Int] = [:]
    package internal(set) var failuresInARow = 0
    package internal(set) var lastFailure: DeliveryFailure?
    package internal(set) var lastSuccess: WallTime?
    /// How long answered requests took, whatever the answer.
    package internal(set) var latency = LatencyHistogram()
    /// How long stored packets took from the acceptance of their oldest log.
    package internal(set) var waits = LatencyHistogram(bounds: LatencyHistogram.ofWaits)
    /// Answers, by what `Judgement.countedAs` calls them.
    package internal(set) var answers: [String: Int] = [:]
    /// Requests with packets that had failed before.
    package internal(set) var retries = 0
    package internal(set) var pauses: [PauseReason: Int] = [:]

    /// As many as the queue allows the destination logstores.
    var byLogstore: [String: OutletStatus] = [:]

    /// Each logstore that has logs, or had some lately, by name.
    package var outlets: [OutletStatus] {
        byLogstore.values.sorted { $0.logstore < $1.logstore }
    }

    /// The one that took a packet last: a credential may have rights for few.
    package var provenLogstore: String? {
        let proven = byLogstore.values.compactMap { outlet in
            outlet.lastSuccess.map { (outlet.logstore, $0) }
        }
        return proven.max { $0.1 < $1.1 }?.0
    }

    /// Packets that wait to be sent again.
    package var waitingRetry: Int { byLogstore.values.reduce(0) { $0 + $1.retrying } }

    init(_ settings: Destination) {
        name = settings.name
        project = settings.projectInUse
        endpoints = settings.endpointKeys.map(\.description)
        endpoint = settings.endpointKeys[0].description
        clockOffset = settings.transfer.clockOffset
    }

    /// Nothing is under way any more.
    mutating func stop() {
        state = .stopped
        inFlight = 0
        leased = 0
        memoryBytes = 0
        awaitingClock = 0
        for logstore in byLogstore.keys {
            byLogstore[logstore]?.inFlight = 0
            byLogstore[logstore]?.waiting = 0
            byLogstore[logstore]?.retrying = 0
        }
    }

    /// How to repair the host's clock; nil while no log waits for it.
    package var clockTrouble: String? {
        guard awaitingClock > 0 else { return nil }
        return hostIsWrongBy.map(DeliveryFailure.remedy(forClock:))
    }
}

/// What delivery does for one logstore of a destination, and has done since the start.
package struct OutletStatus: Sendable, Equatable {
    package enum State: Sendable, Equatable {
        case running
        /// As in `DestinationStatus`.
        case paused(reason: String, until: WallTime?)
    }

    package let logstore: String
    package internal(set) var state = State.running
    /// Requests that may be in flight.
    package internal(set) var limit = 0
    package internal(set) var inFlight = 0
    /// Packets that delivery has and no request carries now.
    package internal(set) var waiting = 0
    /// Those of them that failed before.
    package internal(set) var retrying = 0
    /// Requests a second while a quota paces them.
    package internal(set) var rate: Double?

    package internal(set) var sentPackets = 0
    package internal(set) var sentLogs = 0
    package internal(set) var failures: [DeliveryFailure.Kind: Int] = [:]
    package internal(set) var lastFailure: DeliveryFailure?
    package internal(set) var lastSuccess: WallTime?
}
