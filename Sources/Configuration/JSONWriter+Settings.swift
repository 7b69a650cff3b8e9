import Delivery
package import JSON
import Queue
import SLS
import System

extension JSONWriter {
    /// The settings of a destination, as the configuration file has them.
    package mutating func settings(_ destination: Destination) {
        let transfer = destination.transfer
        member("name", destination.name)
        array("endpoint") { json in destination.endpoints.forEach { json.element("\($0)") } }
        member("project", destination.project)
        member("logstore", destination.logstore.name)
        member("credential", destination.credential)
        member("signature", "\(destination.signature)")
        member("region", destination.region)
        member("proxy", transfer.proxy?.description)
        member("ca_file", transfer.certificateFile)
        member("compress", "\(transfer.compression)")
        object("packet") { json in
            json.member("bytes", transfer.packet.rawBytes)
            json.member("logs", transfer.packet.logs)
            json.member("age", durationText(transfer.packet.age))
        }
        member("concurrency", transfer.concurrency)
        member("exactly_once", transfer.lanes > 0)
        member("lanes", transfer.lanes)
        member("drop_unauthorized", transfer.dropsUnauthorized)
        member("connect_timeout", durationText(transfer.connectTimeout))
        member("send_timeout", durationText(transfer.sendTimeout))
        member("stall_timeout", transfer.stallTimeout.map { durationText($0) })
        member("clock_offset", durationText(transfer.clockOffset))
        labels(destination.labels)
        intake(destination.intake)
        backlog(destination.backlog)
    }

    private mutating func labels(_ labels: Destination.Labels) {
        member("topic", labels.topic)
        member("source", labels.source)
        object("tags") { json in labels.tags.forEach { json.member($0.key, $0.value) } }
    }

    private mutating func intake(_ intake: Destination.Intake) {
        member("late_logs", intake.lateLogs.rawValue)
        member("max_log_delay", durationText(intake.logDelayMax))
        member("oversize", intake.oversize == .truncate ? "truncate" : "dead_letter")
        switch intake.foldTags {
        case .none: member("fold_tags", "none")
        case .all: member("fold_tags", "all")
        case .named(let names): array("fold_tags") { json in names.forEach { json.element($0) } }
        }
        member("keep_pack_id", intake.keepsPackID)
        object("stamp") { json in
            for label in intake.stamps.labels { json.member(label.fact.rawValue, label.written) }
        }
    }

    private mutating func backlog(_ backlog: Destination.Backlog) {
        member("max_bytes", backlog.bytesMax)
        member("max_age", backlog.ageMax.map { durationText($0) })
        member("overflow", backlog.overflow == .reject ? "reject" : "drop_oldest")
        member("fresh_first", "\(backlog.freshPercent)%")
        member("logstores_max", backlog.logstoresMax)
    }
}

extension Destination.Logstore {
    /// "*" for every logstore.
    package var name: String {
        switch self {
        case .named(let name): name
        case .any: "*"
        }
    }
}
