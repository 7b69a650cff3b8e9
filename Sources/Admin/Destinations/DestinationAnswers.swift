import Configuration
import Crypto
import Delivery
import HTTP
import JSON
import Operations
import Queue
import SLS
import System

/// The answers about destinations: settings, decisions and status of each.
struct DestinationAnswers: Sendable {
    let destinations: DestinationChanges
    let reporter: Reporter

    /// `/admin/destinations`: each destination as it would be shown alone.
    func all() -> Response {
        let report = reporter.report
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

    /// `/admin/destinations/{name}`, with the version that `If-Match` of a change may name.
    func one(_ name: String) throws(HTTPProblem) -> Response {
        guard name != DestinationChanges.all else { return all() }
        let report = reporter.report
        guard let destination = report.destinations.first(where: { $0.name == name }),
            let settings = destinations.settings(of: name)
        else { throw destinations.absent(name, isChange: false) }
        let decided = destinations.decisions.settings[name] ?? DecidedSettings()
        var json = JSONWriter()
        json.object { member(destination, of: report, &$0) }
        var response = Response(json: json)
        response.fields.append(("etag", settings.version(decided)))
        return response
    }

    /// A destination after a change of it.
    func afterChange(of name: String) throws(HTTPProblem) -> Response {
        let isThere = name == DestinationChanges.all || destinations.settings(of: name) != nil
        return isThere ? try one(name) : forgotten(name)
    }

    /// After the decisions about a destination that does not run were forgotten.
    private func forgotten(_ name: String) -> Response {
        var json = JSONWriter()
        json.object { $0.member("name", name) }
        return Response(json: json.text + "\n")
    }

    private func member(
        _ destination: GatewayReport.Destination,
        of report: GatewayReport,
        _ json: inout JSONWriter
    ) {
        let settings = destinations.settings(of: destination.name)
        let decisions = destinations.decisions
        let decided = decisions.settings[destination.name] ?? DecidedSettings()
        json.object("settings") { json in settings.map { json.settings($0) } }
        // Delivery learns of a pause and of a resume a moment later.
        json.member("paused", decisions.held.contains(destination.name))
        // These override the file until they are reset.
        json.object("decided") { $0.decided(decided) }
        if let leftOut = decisions.leftOut[destination.name] {
            json.object("decided_and_left_out") { $0.decided(leftOut) }
        }
        json.object("status") { $0.destination(destination, now: report.now) }
    }
}
