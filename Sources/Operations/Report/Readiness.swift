import Delivery
package import Queue

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
