package import Delivery
package import Queue
package import System

extension GatewayReport {
    /// Why this gateway should get no traffic; empty when all is well.
    package var reasonsAgainstTraffic: [String] { reasonsAgainstTraffic(inDetail: true) }

    /// Without detail, for strangers, they name neither destinations nor hosts.
    package func reasonsAgainstTraffic(inDetail: Bool) -> [String] {
        var reasons: [String] = []
        if intake.isStopping {
            reasons.append("the gateway is stopping")
        } else if intake.isDraining {
            reasons.append("the gateway is draining")
        } else if let reason = queue.admission.reason {
            let problem = inDetail ? queue.problem : nil
            reasons.append(problem.map { "\(reason): \($0)" } ?? reason)
        }
        if let problem = queue.fleet?.problem, reasons.isEmpty {
            let detail = inDetail ? ": \(problem)" : ""
            reasons.append("the cluster cannot be reached\(detail)")
        }
        let present = destinations.filter { !$0.isRemoved }
        let troubles = present.compactMap { destination in
            destination.trouble.map { "destination \(destination.name): \($0)" }
        }
        // One working destination is enough: the logs of the others wait in the queue.
        if troubles.count == present.count, !troubles.isEmpty {
            reasons += inDetail ? troubles : ["no destination takes logs"]
        }
        return reasons
    }
}

extension GatewayReport.Destination {
    /// Why the destination's logs do not arrive, or are refused while others' are accepted.
    package var trouble: String? {
        delivery.trouble ?? (queue.admission == .destinationFull ? queue.admission.reason : nil)
    }
}

extension GatewayReport.Destination {
    /// A fact that operators should know and that is not a problem.
    package var notice: String? {
        isRemoved
            ? "removed from the configuration and leaving: it takes no logs, and is closed when its queued logs "
                + "are delivered"
            : nil
    }
}

extension QueueAdmission {
    /// Why batches are refused; nil when they are accepted.
    package var reason: String? {
        switch self {
        case .open: nil
        case .full: "the queue is full"
        case .destinationFull: "the destination's share of the queue is full"
        case .tooManyLogstores: "the destination has too many logstores"
        case .tooManyStreams: "the queue has too many streams"
        case .tooManyStreamsOfDestination: "the destination has too many streams"
        case .tooManyStreamsOfSender: "the device key has too many streams"
        case .diskFull: "the disk is full"
        case .failing: "the queue cannot be written"
        case .stopping: "the queue is stopping"
        }
    }

    /// For metrics and scripts.
    package var name: String {
        switch self {
        case .open: "open"
        case .full: "full"
        case .destinationFull: "destination_full"
        case .tooManyLogstores: "too_many_logstores"
        case .tooManyStreams: "too_many_streams"
        case .tooManyStreamsOfDestination: "too_many_streams_of_destination"
        case .tooManyStreamsOfSender: "too_many_streams_of_key"
        case .diskFull: "disk_full"
        case .failing: "failing"
        case .stopping: "stopping"
        }
    }

    /// True when the whole queue can be in this state.
    package var isOfQueue: Bool { self != .destinationFull && self != .tooManyLogstores }

    /// The states that are known before a request's streams are.
    package static let all: [QueueAdmission] = [
        .open, .full, .destinationFull, .tooManyLogstores, .diskFull, .failing, .stopping,
    ]
}

/// Why nothing is sent at present, and when the next probe is sent; nil while a probe is in flight.
package struct Standstill: Equatable {
    let reason: String
    package let until: WallTime?
}

extension DestinationStatus {
    /// The fewest consecutive failures that are more than bad luck or a quota used to its limit.
    private static let failuresMin = 3

    /// Why logs do not arrive; nil while all is well, and before the first attempt.
    package var trouble: String? {
        if case .waitingForCredential(let reason) = state { return reason }
        if state == .held { return "paused by an operator; resume it with: sluice resume \(name)" }
        if let standstill { return standstill.reason }
        if let clockTrouble { return clockTrouble }
        guard failuresInARow >= Self.failuresMin, let lastFailure else { return nil }
        return "\(lastFailure.summary); \(lastFailure.remedy)"
    }

    /// A destination stands still when all of its logstores do.
    package var standstill: Standstill? {
        switch state {
        case .paused(let reason, let until): return Standstill(reason: reason, until: until)
        case .waitingForCredential, .held, .stopped: return nil
        case .running: break
        }
        let standstills = outlets.map(\.standstill)
        guard !standstills.contains(nil) else { return nil }
        return standstills.compactMap(\.self).min {
            $0.until ?? .distantPast < $1.until ?? .distantPast
        }
    }

    package var stateName: String {
        switch state {
        case .waitingForCredential: "waiting_for_credential"
        case .held: "held"
        case .stopped: "stopped"
        case .running, .paused:
            standstill != nil ? "paused" : trouble == nil ? "fine" : "failing"
        }
    }

    package static let stateNames = [
        "fine", "failing", "paused", "held", "waiting_for_credential", "stopped",
    ]
}

extension OutletStatus {
    package var standstill: Standstill? {
        guard case .paused(let reason, let until) = state else { return nil }
        return Standstill(reason: reason, until: until)
    }

    /// Why logs do not arrive at the logstore; nil: something was stored since the last failure.
    package var trouble: String? {
        if let standstill { return standstill.reason }
        guard let lastFailure, lastSuccess.map({ $0 < lastFailure.at }) ?? true else { return nil }
        return "\(lastFailure.summary); \(lastFailure.remedy)"
    }

    package var stateName: String {
        standstill != nil ? "paused" : trouble == nil ? "fine" : "failing"
    }

    package static let stateNames = ["fine", "failing", "paused"]
}

extension WallTime {
    fileprivate static let distantPast = WallTime(nanoseconds: .min)
}
