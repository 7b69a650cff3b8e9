import Configuration
import HTTP
import JSON
import Operations
import Queue
import System

extension AdminCall {
    private var name: String { values[0] }

    /// `/admin/destinations`: each destination as it would be shown alone.
    func destinations() -> Response {
        let report = shared.report
        return .json { json in
            json.objects("destinations", report.destinations) { write($1, of: report, &$0) }
        }
    }

    /// `/admin/destinations/{name}`, with the version that `If-Match` of a change may name.
    func destination() throws(HTTPProblem) -> Response {
        guard name != DestinationChanges.all else { return destinations() }
        let report = shared.report
        guard let destination = report.destinations.first(where: { $0.name == name }),
            let settings = shared.destinations.settings(of: name)
        else { throw shared.destinations.absent(name, isChange: false) }
        let decided = shared.destinations.decisions.settings[name] ?? DecidedSettings()
        var response = Response.json { write(destination, of: report, &$0) }
        response.fields.append(("etag", settings.version(decided)))
        return response
    }

    // MARK: - Changes

    func patchDestination() throws(HTTPProblem) -> Response {
        let condition = try IfMatch(head)
        try shared.destinations.patch(name, body, if: condition, entry(doing: "patch"))
        return try changed()
    }

    func resetDestination() throws(HTTPProblem) -> Response {
        try shared.destinations.reset(name, if: try IfMatch(head), entry(doing: "reset"))
        return try changed()
    }

    func pause() throws(HTTPProblem) -> Response {
        try shared.destinations.pause(name, entry(doing: "pause"))
        return try changed()
    }

    func resume() throws(HTTPProblem) -> Response {
        try shared.destinations.resume(name, entry(doing: "resume"))
        return try changed()
    }

    func flush() throws(HTTPProblem) -> Response {
        try shared.destinations.flush(name, entry(doing: "flush"))
        return try changed()
    }

    private func entry(doing action: String) -> AuditEntry {
        entry(action, "destination \(name)")
    }

    /// The destination after its change; only its name if it does not run.
    private func changed() throws(HTTPProblem) -> Response {
        let isThere =
            name == DestinationChanges.all || shared.destinations.settings(of: name) != nil
        return isThere ? try destination() : forgotten(name)
    }

    func forgotten(_ name: String) -> Response {
        .json { $0.member("name", name) }
    }

    // MARK: - Documents

    private func write(
        _ destination: GatewayReport.Destination,
        of report: GatewayReport,
        _ json: inout JSONWriter
    ) {
        let settings = shared.destinations.settings(of: destination.name)
        let decisions = shared.destinations.decisions
        let decided = decisions.settings[destination.name] ?? DecidedSettings()
        // Delivery learns of a pause and of a resume a moment later.
        json.member("paused", decisions.held.contains(destination.name))
        json.object("settings") { json in settings.map { json.settings($0) } }
        // These override the file until they are reset.
        json.object("decided") { $0.decided(decided) }
        if let leftOut = decisions.leftOut[destination.name] {
            json.object("decided_and_left_out") { $0.decided(leftOut) }
        }
        json.object("status") { $0.destination(destination, now: report.now) }
    }
}
