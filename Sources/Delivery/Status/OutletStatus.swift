package import System

/// What delivery does for one logstore of a destination, and has done since the start.
package struct OutletStatus: Sendable, Equatable {
    package enum State: Sendable, Equatable {
        case running
        /// One request at a time tries whether the logstore takes anything: the next one then, or
        /// one is on its way.
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
