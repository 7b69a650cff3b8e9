import Delivery
import HTTP
import Ingest
import JSON
import Net
import Operations
import Queue
import System
import Tokens

/// The documents about the gateway as a whole: status, readiness, ledger and drain.
extension GatewayReport {
    /// `GET /admin/status`: what an operator asks first.
    var statusDocument: String {
        document { json in
            json.member("version", Version.current)
            json.member("time", now.rfc3339)
            json.member("uptime_seconds", seconds: uptime)
            let reasons = reasonsAgainstTraffic
            json.member("ready", reasons.isEmpty)
            json.member("draining", intake.isDraining)
            json.array("reasons") { json in reasons.forEach { json.element($0) } }
            json.object("ledger") { $0.ledger(queue.ledger) }
            json.member("ledger_closed", isLedgerClosed)
            json.object("intake") { $0.intake(queue.intake) }
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
            if !senders.tokenKeys.isEmpty {
                json.array("token_keys") { json in
                    for source in senders.tokenKeys { json.object { $0.tokenKeys(source) } }
                }
            }
            json.array("listeners") { json in
                for listener in listeners { json.object { $0.listener(listener, now: now) } }
            }
            json.object("process") { $0.figures(GatewayFigures.process, of: .now, now: now) }
        }
    }

    /// `GET /readyz`, with status 200 or 503.
    func readinessDocument(inDetail: Bool) -> String {
        document { json in
            let reasons = reasonsAgainstTraffic(inDetail: inDetail)
            json.member("ready", reasons.isEmpty)
            json.array("reasons") { json in reasons.forEach { json.element($0) } }
        }
    }

    /// The same for people, one reason per line.
    func readinessText(inDetail: Bool) -> String {
        let reasons = reasonsAgainstTraffic(inDetail: inDetail)
        return (reasons.isEmpty ? ["ready"] : reasons).joined(separator: "\n") + "\n"
    }

    /// `GET /admin/ledger`: where every log is, and whether the counts add up.
    var ledgerDocument: String {
        document { json in
            json.member("closed", isLedgerClosed)
            json.object("ledger") { $0.ledger(queue.ledger) }
            json.object("intake") { $0.intake(queue.intake) }
            json.object("destinations") { json in
                for (name, destination) in queue.destinations.sorted(by: { $0.key < $1.key }) {
                    json.object(name) { json in
                        json.ledger(destination.ledger)
                        json.member("imbalance", destination.imbalance)
                    }
                }
            }
        }
    }

    /// `/admin/drain`: how many logs are left.
    func drainAnswer(_ wantsText: Bool) -> Response {
        let (queued, dead) = (queue.ledger.queued, queue.ledger.dead)
        let held = destinations.filter { $0.delivery.state == .held }
            .reduce(0) { $0 + $1.queue.ledger.queued }
        guard wantsText else {
            return Response(
                json: document { json in
                    json.member("draining", intake.isDraining)
                    json.member("queued", queued)
                    json.member("arriving", intake.arriving)
                    json.member("held", held)
                    json.member("dead", dead)
                }
            )
        }
        let state = intake.isDraining ? "draining, no more logs are accepted" : "accepting logs"
        let extra = [
            intake.arriving > 0 ? "\(counted(intake.arriving, "request")) being stored" : nil,
            held > 0 ? "\(held) of them for paused destinations" : nil,
            dead > 0 ? counted(dead, "dead letter") : nil,
        ]
        let text = (["\(queued) queued"] + extra.compactMap(\.self)).joined(separator: ", ")
        return Response(text: "\(state): \(text)\n")
    }

    private var isLedgerClosed: Bool {
        queue.destinations.values.allSatisfy { $0.imbalance == 0 }
    }

    private func document(_ members: (inout JSONWriter) -> Void) -> String {
        var json = JSONWriter()
        json.object(members)
        return json.text + "\n"
    }
}

extension JSONWriter {
    mutating func queue(_ queue: QueueStatus, now: WallTime) {
        member("admission", queue.admission.name)
        member("problem", queue.problem?.description)
        figures(QueueFigures.queue, of: queue, now: now)
        object("duplicates") {
            $0.figures(QueueFigures.queue, of: queue, now: now, in: "duplicates")
        }
        age("oldest_seconds", of: queue.oldest, now: now)
        if let log = queue.commitLog {
            object("commit_log") { $0.figures(QueueFigures.commitLog, of: log, now: now) }
        }
        if let fleet = queue.fleet { object("fleet") { $0.fleet(fleet, now: now) } }
    }

    private mutating func fleet(_ fleet: FleetStatus, now: WallTime) {
        member("node", fleet.node)
        member("problem", fleet.problem)
        array("shards") { json in
            for shard in fleet.shards {
                json.object { json in
                    json.member("name", shard.name)
                    json.member("role", shard.role.rawValue)
                    json.member("problem", shard.problem?.description)
                    json.figures(FleetFigures.shards, of: shard, now: now)
                }
            }
        }
        array("other_gateways") { json in
            for other in fleet.others {
                json.object { json in
                    json.member("node", other.name)
                    json.member("version", other.version)
                    json.member("alive", other.isAlive)
                    json.array("shards") { json in other.shards.forEach { json.element($0) } }
                    json.object("ledger") { $0.ledger(other.ledger) }
                    json.member("problem", other.problem)
                }
            }
        }
        member("adopting", fleet.adopting)
        array("orphans") { json in
            for orphan in fleet.orphans {
                json.object { json in
                    json.member("shard", orphan)
                    json.member("refused_because", fleet.refusedOrphans[orphan])
                }
            }
        }
        figures(FleetFigures.fleet, of: fleet, now: now)
        member("messages_problem", fleet.messages.problem)
    }

    /// Writes null if there is no time.
    mutating func age(_ name: String, of time: WallTime?, now: WallTime) {
        member(name, number: time.map { (now - $0).figureText })
    }

    fileprivate mutating func webhook(_ webhook: WebhookStatus) {
        // Without path and query, which may hold a token.
        member("place", webhook.place)
        member("sent", webhook.sent)
        member("failed", webhook.failed)
        member("dropped", webhook.dropped)
        member("waiting", webhook.waiting)
        member("problem", webhook.problem)
    }

    fileprivate mutating func tokenKeys(_ source: TokenKeySources.Status) {
        member("name", source.name)
        member("url", source.place)
        member("keys", source.keys.keys)
        member("fetched", source.keys.fetched?.rfc3339)
        member("failures", source.keys.failures)
        member("problem", source.keys.problem)
    }

    fileprivate mutating func listener(_ listener: GatewayReport.Listener, now: WallTime) {
        member("name", listener.name)
        member("address", listener.address)
        member("connections", listener.counters[.openConnections])
        member("requests", listener.counters.requests)
        guard let status = listener.certificates else { return member("tls", nil as String?) }
        object("tls") { json in
            json.array("certificates") { json in
                for certificate in status.certificates {
                    json.object { json in
                        json.member("file", certificate.file)
                        json.array("names") { json in
                            certificate.names.forEach { json.element($0) }
                        }
                        json.member("expires", certificate.expires.rfc3339)
                        json.member("expiring", certificate.isNearEnd(at: now))
                    }
                }
            }
            json.array("revocation_lists") { json in
                for list in status.revocationLists {
                    json.object { json in
                        json.member("file", list.file)
                        json.member("issuer", list.issuer)
                        json.member("revoked", list.revokedCount)
                        json.member("expires", list.expires?.rfc3339)
                        json.member("expired", list.isExpired(at: now))
                    }
                }
            }
            json.member("problem", status.problem)
        }
    }
}
