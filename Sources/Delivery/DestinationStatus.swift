import SLS
package import System

/// What a destination is doing and has done since the start.
package struct DestinationStatus: Sendable {
    package enum State: Sendable, Equatable {
        case running
        /// Nothing is sent until a credential comes; the queue keeps what arrives.
        case waitingForCredential(reason: String)
        case stopped
    }

    /// Packets that cannot be sent as they are. They stay in the queue.
    package struct Held: Sendable, Equatable {
        package var packets = 0
        package var logs = 0
        /// Why, for the latest of them.
        package var reason: String?
    }

    /// Packets that the queue took back because it could not read them any more. What is left of them
    /// comes again in new packets.
    package struct Voided: Sendable, Equatable {
        package var packets = 0
        /// Why, for the latest of them.
        package var reason: String?
    }

    package let name: String
    package let endpoint: String
    package let project: String

    package internal(set) var state = State.stopped
    package internal(set) var inFlight = 0
    package internal(set) var waitingRetry = 0
    /// Those of them that failed again and again for reasons of their own.
    package internal(set) var parked = 0
    /// On lease from the queue, these two included.
    package internal(set) var leased = 0
    package internal(set) var held = Held()
    package internal(set) var voided = Voided()

    package internal(set) var sentPackets = 0
    package internal(set) var sentLogs = 0
    /// Before compression, without the LogGroup's trailer.
    package internal(set) var sentRawBytes = 0
    /// Request bodies on the wire, of packets that were stored.
    package internal(set) var sentWireBytes = 0

    package internal(set) var failures: [DeliveryFailure.Kind: Int] = [:]
    package internal(set) var failuresInARow = 0
    package internal(set) var lastFailure: DeliveryFailure?
    package internal(set) var lastSuccess: WallTime?
    /// Of requests that were answered, whatever the answer.
    package internal(set) var latency = LatencyHistogram()

    init(_ settings: DestinationSettings) {
        name = settings.name
        endpoint = settings.endpoint.description
        project = settings.project
    }
}
