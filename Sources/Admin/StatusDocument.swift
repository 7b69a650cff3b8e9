import Delivery
import HTTP
import Ingest
import JSON
import Operations
import Queue
import System
import Tokens

extension GatewayReport {
    /// `/admin/status`: what an operator asks first.
    var statusDocument: String {
        var json = JSONWriter()
        json.object { json in
            json.member("version", Version.current)
            json.member("time", now.rfc3339)
            json.member("uptime_seconds", seconds: uptime)
            let reasons = reasonsAgainstTraffic
            json.member("ready", reasons.isEmpty)
            json.member("draining", isDraining)
            json.array("reasons") { json in reasons.forEach { json.element($0) } }
            json.object("ledger") { $0.ledger(queue.ledger) }
            json.member("ledger_closed", queue.destinations.values.allSatisfy { $0.imbalance == 0 })
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
            json.array("credentials") { json in
                for credential in credentials { json.object { $0.credential(credential) } }
            }
            if webhook.place != nil { json.object("webhook") { $0.webhook(webhook) } }
            if !tokenKeys.isEmpty {
                json.array("token_keys") { json in
                    for source in tokenKeys { json.object { $0.tokenKeys(source) } }
                }
            }
            json.array("listeners") { json in
                for listener in listeners {
                    json.object { json in
                        json.member("name", listener.name)
                        json.member("address", listener.address)
                        json.member("connections", listener.counters.connectionsOpen)
                        json.member("requests", listener.counters.requests)
                        json.certificates(listener.certificates, now: now)
                    }
                }
            }
            json.object("process") { json in
                let process = ProcessFigures.now
                json.member("resident_bytes", process.residentBytes)
                json.member("cpu_seconds", seconds: process.cpu)
                json.member("open_descriptors", process.openDescriptors)
            }
        }
        return json.text + "\n"
    }

    /// `/readyz`, whatever it says.
    var readinessDocument: String {
        var json = JSONWriter()
        let reasons = reasonsAgainstTraffic
        json.object { json in
            json.member("ready", reasons.isEmpty)
            json.array("reasons") { json in reasons.forEach { json.element($0) } }
        }
        return json.text + "\n"
    }

    /// The same for people, a reason a line.
    var readinessText: String {
        let reasons = reasonsAgainstTraffic
        return (reasons.isEmpty ? ["ready"] : reasons).joined(separator: "\n") + "\n"
    }
}

extension JSONWriter {
    mutating func webhook(_ webhook: WebhookStatus) {
        // Its path and query may hold a token.
        member("place", webhook.place)
        member("sent", webhook.sent)
        member("failed", webhook.failed)
        member("dropped", webhook.dropped)
        member("waiting", webhook.waiting)
        member("problem", webhook.problem)
    }

    mutating func tokenKeys(_ source: TokenKeySources.Status) {
        member("name", source.name)
        member("url", source.place)
        member("keys", source.keys.keys)
        member("fetched", source.keys.fetched?.rfc3339)
        member("failures", source.keys.failures)
        member("problem", source.keys.problem)
    }

    mutating func queue(_ queue: QueueStatus, now: WallTime) {
        member("admission", queue.admission.name)
        member("problem", queue.problem?.description)
        member("bytes", queue.bytes)
        member("bytes_max", queue.bytesMax)
        member("rows", queue.rows)
        member("streams", queue.streams)
        member("packets", queue.packets)
        age("oldest_seconds", of: queue.oldest, now: now)
        member("isolations", queue.isolations)
        member("isolations_waiting", queue.isolationsWaiting)
        member("commits", queue.commits)
        object("duplicates") { json in
            json.member("known", queue.repeats.known)
            json.member("repeated", queue.repeats.repeated)
            json.member("forgotten_early", queue.repeats.forgottenEarly)
        }
        member("database_bytes", queue.databaseBytes)
        member("log_bytes", queue.logBytes)
        member("disk_free_bytes", queue.freeBytes)
    }
}
