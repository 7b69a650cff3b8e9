import Delivery
import HTTP
import SLS
import System

extension Steering {
    /// `/admin/destinations`: all of them, each as it would be shown alone.
    func destinationList() -> String {
        let report = reporter.report
        var json = JSONText()
        json.object { json in
            json.array("destinations") { json in
                for destination in report.destinations {
                    json.object { member(destination, of: report, &$0) }
                }
            }
        }
        return json.text + "\n"
    }

    /// `/admin/destinations/{name}`, with the version that a change may ask for.
    func destinationAnswer(_ name: String) throws(Refusal) -> Response {
        let report = reporter.report
        guard let destination = report.destinations.first(where: { $0.name == name }),
            let settings = configuration.withLock({ $0.destinations.first { $0.name == name } })
        else { throw .noDestination(name) }
        var json = JSONText()
        json.object { member(destination, of: report, &$0) }
        var response = Response(json: json.text + "\n")
        let decided = decided.withLock { $0.settings[name] } ?? DecidedSettings()
        response.fields.append(("etag", settings.version(decided)))
        return response
    }

    private func member(
        _ destination: GatewayReport.Destination,
        of report: GatewayReport,
        _ json: inout JSONText
    ) {
        let settings = configuration.withLock { running in
            running.destinations.first { $0.name == destination.name }
        }
        let decided = decided.withLock { $0.settings[destination.name] } ?? DecidedSettings()
        json.object("settings") { json in settings.map { json.settings($0) } }
        // Beats the file until it is reset.
        json.object("decided") { $0.decided(decided) }
        json.object("status") { $0.destination(destination, now: report.now) }
    }
}

extension Destination {
    /// Changes with each change of it.
    func version(_ decided: DecidedSettings) -> String {
        var json = JSONText()
        json.object { $0.settings(self) }
        return "\"\(Digest.sha256Hex(json.text + decided.json).prefix(16))\""
    }
}
