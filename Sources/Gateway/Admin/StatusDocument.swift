import Delivery
import HTTP
import Queue
import System

extension GatewayReport {
    /// `/admin/status`: what an operator asks first.
    var statusDocument: String {
        var json = JSONText()
        json.object { json in
            json.member("version", Version.current)
            json.member("time", now.rfc3339)
            json.member("uptime_seconds", seconds: uptime)
            let reasons = reasonsAgainstTraffic
            json.member("ready", reasons.isEmpty)
            json.array("reasons") { json in reasons.forEach { json.element($0) } }
            json.object("ledger") { $0.ledger(queue.ledger) }
            json.object("queue") { $0.queue(queue, now: now) }
            json.array("destinations") { json in
                for destination in destinations {
                    json.object { $0.destination(destination, now: now) }
                }
                for (name, ledger) in strangers.sorted(by: { $0.key < $1.key }) {
                    json.object { json in
                        json.member("name", name)
                        json.member("configured", false)
                        json.object("ledger") { $0.ledger(ledger) }
                    }
                }
            }
            json.array("listeners") { json in
                for listener in listeners {
                    json.object { json in
                        json.member("name", listener.name)
                        json.member("address", listener.address)
                        json.member("connections", listener.counters.connectionsOpen)
                        json.member("requests", listener.counters.requests)
                    }
                }
            }
            json.object("process") { json in
                json.member("resident_bytes", process.residentBytes)
                json.member("cpu_seconds", seconds: process.cpu)
                json.member("open_descriptors", process.openDescriptors)
            }
        }
        return json.text + "\n"
    }

    /// `/readyz`, whatever it says.
    var readinessDocument: String {
        var json = JSONText()
        let reasons = reasonsAgainstTraffic
        json.object { json in
            json.member("ready", reasons.isEmpty)
            json.array("reasons") { json in reasons.forEach { json.element($0) } }
        }
        return json.text + "\n"
    }
}

extension JSONText {
    fileprivate mutating func ledger(_ ledger: Ledger) {
        member("accepted", ledger.accepted)
        member("delivered", ledger.delivered)
        member("queued", ledger.queued)
        member("dead", ledger.dead)
        member("expired", ledger.expired)
        member("discarded", ledger.discarded)
    }

    fileprivate mutating func queue(_ queue: QueueStatus, now: WallTime) {
        member("admission", queue.admission.name)
        member("problem", queue.problem?.description)
        member("bytes", queue.bytes)
        member("bytes_max", queue.bytesMax)
        member("rows", queue.rows)
        member("streams", queue.streams)
        member("packets", queue.packets)
        age("oldest_seconds", of: queue.oldest, now: now)
        member("commits", queue.commits)
        member("database_bytes", queue.databaseBytes)
        member("log_bytes", queue.logBytes)
        member("disk_free_bytes", queue.freeBytes)
    }

    fileprivate mutating func destination(_ destination: GatewayReport.Destination, now: WallTime) {
        member("name", destination.name)
        member("configured", true)
        member("endpoint", destination.endpoint)
        member("project", destination.project)
        member("logstore", destination.logstore)
        let delivery = destination.delivery
        member("state", delivery.stateName)
        member("trouble", delivery.trouble)
        object("ledger") { $0.ledger(destination.queue.ledger) }
        object("queue") { $0.backlog(destination.queue, now: now) }
        object("delivery") { json in
            json.member("in_flight", delivery.inFlight)
            json.member("waiting_for_retry", delivery.waitingRetry)
            json.member("isolated_packets", delivery.isolated.packets)
            json.member("sent_packets", delivery.sentPackets)
            json.member("sent_logs", delivery.sentLogs)
            json.member("failures", delivery.failures.values.reduce(0, +))
            json.member("failures_in_a_row", delivery.failuresInARow)
            json.member("last_success", delivery.lastSuccess?.rfc3339)
        }
        guard let failure = delivery.lastFailure else { return member("last_error", String?.none) }
        object("last_error") { json in
            json.member("time", failure.at.rfc3339)
            json.member("logstore", failure.logstore)
            json.member("error", failure.summary)
            json.object("result") { json in
                json.member("name", failure.result.name)
                json.member("number", failure.result.number)
            }
            json.member("request_id", failure.requestID)
            json.member("remedy", failure.remedy)
        }
    }
}
