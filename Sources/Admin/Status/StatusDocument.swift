import Configuration
import Delivery
import HTTP
import Ingest
import JSON
import Net
import Operations
import Queue
import System
import Tokens

extension AdminCall {
    func health() -> Response { Response(text: "ok\n") }

    /// `GET /readyz`, with status 200 or 503.
    func readiness() -> Response {
        let report = shared.report
        let status = report.reasonsAgainstTraffic.isEmpty ? 200 : 503
        let reasons = report.reasonsAgainstTraffic(inDetail: visitor != nil)
        return .json(status) { json in
            json.member("ready", reasons.isEmpty)
            json.texts("reasons", reasons)
        }
    }

    func metrics() -> Response {
        let page = shared.report.metrics
        return Response(status: 200, contentType: MetricsPage.contentType, text: page)
    }

    /// `GET /admin/status`: what an operator asks first.
    func status() -> Response { .json(200, shared.report.writeStatus) }

    /// `GET /admin/ledger`: where every log is, and whether the counts add up.
    func ledger() -> Response { .json(200, shared.report.writeLedger) }

    func document() -> Response { Response(json: ServedFile.openAPI.text) }

    /// `GET /admin/routes`: the filters and routes in force.
    func rules() -> Response { Response(json: shared.reporter.rulesDocument) }

    /// `/admin/drain`: how many logs are left.
    func drain() -> Response {
        let report = shared.report
        let held = report.destinations.filter { $0.delivery.state == .held }
            .reduce(0) { $0 + $1.queue.ledger.queued }
        return .json { json in
            json.member("draining", report.intake.isDraining)
            json.member("queued", report.queue.ledger.queued)
            json.member("arriving", report.intake.arriving)
            json.member("held", held)
            json.member("dead", report.queue.ledger.dead)
        }
    }

    func beginDrain() -> Response {
        shared.draining.begin(entry("drain", "gateway"))
        return drain()
    }

    func endDrain() -> Response {
        shared.draining.end(entry("end drain", "gateway"))
        return drain()
    }
}

extension GatewayReport {
    fileprivate func writeStatus(_ json: inout JSONWriter) {
        json.member("version", Version.current)
        json.member("time", now.rfc3339)
        json.member("uptime_seconds", seconds: uptime)
        let reasons = reasonsAgainstTraffic
        json.member("ready", reasons.isEmpty)
        json.member("draining", intake.isDraining)
        json.texts("reasons", reasons)
        json.texts("summary", summary)
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
        json.objects("credentials", credentials) { $0.credential($1) }
        if webhook.place != nil { json.object("webhook") { $0.webhook(webhook) } }
        if !senders.tokenKeys.isEmpty {
            json.objects("token_keys", senders.tokenKeys) { $0.tokenKeys($1) }
        }
        json.objects("listeners", listeners) { $0.listener($1, now: now) }
        json.object("process") { $0.figures(GatewayFigures.process, of: .now, now: now) }
    }

    fileprivate func writeLedger(_ json: inout JSONWriter) {
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

    private var isLedgerClosed: Bool {
        queue.destinations.values.allSatisfy { $0.imbalance == 0 }
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
        objects("shards", fleet.shards) { json, shard in
            json.member("name", shard.name)
            json.member("role", shard.role.rawValue)
            json.member("problem", shard.problem?.description)
            json.figures(FleetFigures.shards, of: shard, now: now)
        }
        objects("other_gateways", fleet.others) { json, other in
            json.member("node", other.name)
            json.member("version", other.version)
            json.member("alive", other.isAlive)
            json.texts("shards", other.shards)
            json.object("ledger") { $0.ledger(other.ledger) }
            json.member("problem", other.problem)
        }
        member("adopting", fleet.adopting)
        objects("orphans", fleet.orphans) { json, orphan in
            json.member("shard", orphan)
            json.member("refused_because", fleet.refusedOrphans[orphan])
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
        object("tls", ifAny: listener.certificates) { json, status in
            json.objects("certificates", status.certificates) { json, certificate in
                json.member("file", certificate.file)
                json.texts("names", certificate.names)
                json.member("expires", certificate.expires.rfc3339)
                json.member("expiring", certificate.isNearEnd(at: now))
            }
            json.objects("revocation_lists", status.revocationLists) { json, list in
                json.member("file", list.file)
                json.member("issuer", list.issuer)
                json.member("revoked", list.revokedCount)
                json.member("expires", list.expires?.rfc3339)
                json.member("expired", list.isExpired(at: now))
            }
            json.member("problem", status.problem)
        }
    }
}

extension AdminCall {
    /// `GET /admin/history`: what the charts of the console show.
    func history() throws(HTTPProblem) -> Response {
        let asked = head.parameter("window") ?? History.Window.minutes.rawValue
        guard let window = History.Window(rawValue: asked) else {
            let known = History.Window.allCases.map(\.rawValue).joined(separator: ", ")
            throw .query("window cannot be \(clipped(asked)); known: \(known)")
        }
        let view = shared.history.view(window)
        return .json { json in
            json.member("window", view.window.rawValue)
            json.member("step_seconds", Int(view.window.step.inSeconds))
            json.member("end", view.end.rfc3339)
            json.objects("series", view.series) { json, each in
                json.member("name", each.0.rawValue)
                json.member("unit", each.0.unit)
                json.array("values") { json in
                    for value in each.1 { json.element(decimal: value) }
                }
            }
        }
    }
}

extension AdminCall {
    /// `GET /admin/configuration`: each setting in force, its origin, and the file's problems.
    func configuration() -> Response {
        let configuration = shared.reporter.configuration
        let problems = shared.reload.problems
        return .json { json in
            json.member("file", configuration.origins.file)
            json.objects("values", configuration.effective) { $0.setting($1) }
            json.array("problems") { json in
                for problem in problems { json.object { $0.problem(problem) } }
                for warning in configuration.warnings(at: .now) {
                    json.object { json in
                        json.member("message", warning)
                        json.member("line", nil as Int?)
                        json.member("refused", false)
                    }
                }
            }
        }
    }
}

extension JSONWriter {
    fileprivate mutating func setting(_ setting: EffectiveSetting) {
        member("key", setting.key)
        member("value", setting.value)
        member("hidden", setting.isHidden)
        member("origin", setting.origin.name)
        let (line, name): (Int?, String?) =
            switch setting.origin {
            case .file(let line): (line, nil)
            case .environment(let name), .option(let name): (nil, name)
            case .decided, .standard: (nil, nil)
            }
        member("line", line)
        member("given_by", name)
        member("changed", setting.origin != .standard)
    }

    fileprivate mutating func problem(_ problem: ConfigurationProblem) {
        member("message", problem.description)
        let line: Int? = if case .file(_, let line) = problem.place { line } else { nil }
        member("line", line)
        member("refused", true)
    }
}
