import Configuration
import Crypto
import Delivery
import HTTP
import JSON
import Operations
import Queue
import SLS
import System

extension Steering {
    /// `/admin/destinations`: all of them, each as it would be shown alone.
    func destinationsAnswer(_ wantsText: Bool) -> Response {
        let report = reporter.report
        guard !wantsText else { return Response(text: report.destinations.map(line).joined()) }
        var json = JSONWriter()
        json.object { json in
            json.array("destinations") { json in
                for destination in report.destinations {
                    json.object { member(destination, of: report, &$0) }
                }
            }
        }
        return Response(json: json.text + "\n")
    }

    /// `/admin/destinations/{name}`, with the version that a change may ask for.
    func destinationAnswer(_ name: String, _ wantsText: Bool) throws(HTTPProblem) -> Response {
        guard name != Self.all else { return destinationsAnswer(wantsText) }
        let report = reporter.report
        guard let destination = report.destinations.first(where: { $0.name == name }),
            let settings = configuration.withLock({ $0.destinations.first { $0.name == name } })
        else { throw absent(name, isChange: false) }
        let decided = decided.withLock { $0.settings[name] } ?? DecidedSettings()
        var response: Response
        if wantsText {
            response = Response(text: line(destination))
        } else {
            var json = JSONWriter()
            json.object { member(destination, of: report, &$0) }
            response = Response(json: json.text + "\n")
        }
        response.fields.append(("etag", settings.version(decided)))
        return response
    }

    /// What a destination is after a change of it.
    func answer(afterChangeOf name: String, _ wantsText: Bool) throws(HTTPProblem) -> Response {
        let isThere = name == Self.all || runs(name)
        return isThere
            ? try destinationAnswer(name, wantsText) : forgottenAnswer(name, wantsText)
    }

    /// After what was decided of a destination was forgotten that does not run.
    private func forgottenAnswer(_ name: String, _ wantsText: Bool) -> Response {
        guard !wantsText else { return Response(text: "\(name): forgotten\n") }
        var json = JSONWriter()
        json.object { $0.member("name", name) }
        return Response(json: json.text + "\n")
    }

    /// "app: fine, 12 logs queued, sends to my-project/app-log at https://…"
    private func line(_ destination: GatewayReport.Destination) -> String {
        let isHeld = decided.withLock { $0.held.contains(destination.name) }
        let decided = decided.withLock { $0.settings[destination.name] }
        // Delivery hears of it a moment later.
        let isHeldStill = destination.delivery.state == .held
        let state =
            isHeld
            ? "paused by an operator" : isHeldStill ? "resumed" : destination.delivery.stateName
        let notice = destination.notice.map { "\n  \($0)" } ?? ""
        let beaten = decided.map { "\n  decided at run time: \($0.json)" } ?? ""
        return
            "\(destination.name): \(state), \(counted(destination.queue.ledger.queued, "log")) queued, sends to "
            + "\(destination.project)/\(destination.logstore) at \(destination.endpoint)\(notice)\(beaten)\n"
    }

    private func member(
        _ destination: GatewayReport.Destination,
        of report: GatewayReport,
        _ json: inout JSONWriter
    ) {
        let settings = configuration.withLock { running in
            running.destinations.first { $0.name == destination.name }
        }
        let decided = decided.withLock { $0.settings[destination.name] } ?? DecidedSettings()
        json.object("settings") { json in settings.map { json.settings($0) } }
        // Beats the file until it is reset.
        json.object("decided") { $0.decided(decided) }
        let leftOut = self.decided.withLock { $0.leftOut[destination.name] }
        if let leftOut { json.object("decided_and_left_out") { $0.decided(leftOut) } }
        json.object("status") { $0.destination(destination, now: report.now) }
    }
}
