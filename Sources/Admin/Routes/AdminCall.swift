import Configuration
import HTTP
import JSON
import Operations
import Queue
import System

/// A request of the admin API that may be answered, on any thread. Its operations are extensions,
/// in the folders of what they are about.
struct AdminCall: Sendable {
    /// The threads for work that takes a while.
    enum Thread: Sendable {
        case changes, changesElsewhere, proofs, views
    }

    /// The way of an answer that is written over time, with its label.
    struct Stream: Sendable {
        let responder: Responder
        let label: Int
        let exports: PiecedAnswers
        /// Those whose looks wait for the thread.
        let viewers: AdminPlaces
    }

    let shared: AdminHandler.Shared
    let head: RequestHead
    /// The values of the path's parameters.
    let values: [String]
    let body: [UInt8]
    let actor: Operator
    /// nil: the path is open to strangers, or another gateway asks.
    let visitor: AdminDoor.Visitor?
    let responder: Responder
    /// nil: another gateway asks, and wants only what is here.
    let stream: Stream?

    var isRelayed: Bool { stream == nil }
    /// The token may change things, and see what changes need.
    var isFull: Bool { visitor?.holder.role == .full }
    var cluster: ClusterView { ClusterView(store: shared.store) }

    /// For the audit log.
    func entry(_ action: String, _ subject: String, after: String = "") -> AuditEntry {
        actor.entry(action, subject, after: after)
    }

    func record(_ action: String, _ subject: String, after: String = "") {
        shared.audit.record(entry(action, subject, after: after))
    }

    // MARK: - Answering

    /// Answers with the result of the work, or with its problem. nil: the work answers itself.
    func respond(_ work: () throws(HTTPProblem) -> Response?) {
        do throws(HTTPProblem) {
            if let response = try work() { responder.send(response) }
        } catch {
            responder.send(error.response)
        }
    }

    /// Answers after the jobs that wait for the thread already. What another gateway asks is on its
    /// thread already.
    func respond(on thread: Thread, _ work: @escaping @Sendable () throws(HTTPProblem) -> Response?)
    {
        guard !isRelayed else { return respond(work) }
        let workers = shared.workers
        let (worker, full): (SerialWorker, HTTPProblem) =
            switch thread {
            case .changes: (workers.changes, .tooManyChanges)
            case .proofs: (workers.proofs, .tooManyChanges)
            case .changesElsewhere: (workers.changesElsewhere, .tooManyViews)
            case .views: (workers.views, .tooManyViews)
            }
        // One token's dear questions must leave room for those of others.
        guard thread == .views, let viewers = stream?.viewers, let holder = visitor?.holder else {
            if !worker.post({ respond(work) }) { responder.send(full.response) }
            return
        }
        let place = viewers.take(for: holder)
        let isPosted = place != nil && worker.post { withExtendedLifetime(place) { respond(work) } }
        if !isPosted { responder.send(full.response) }
    }
}

extension Response {
    /// An answer for people.
    init(_ status: Int = 200, text: String) {
        self.init(status: status, contentType: "text/plain; charset=utf-8", text: text)
    }

    /// An answer for scripts.
    init(_ status: Int = 200, json: String) {
        self.init(status: status, contentType: "application/json", text: json)
    }

    static func json(_ status: Int = 200, _ members: (inout JSONWriter) -> Void) -> Response {
        var json = JSONWriter()
        json.object(members)
        json.endLine()
        return Response(status: status, contentType: "application/json", body: json.bytes)
    }

    func labelled(_ label: Int) -> Response {
        var labelled = self
        labelled.label = label
        return labelled
    }

    /// Adds the header with the start of the next page.
    mutating func continues(at next: (some CustomStringConvertible)?) {
        if let next { fields.append(("x-sluice-next", "\(next)")) }
    }
}

extension HTTPProblem {
    static let tooManyViews = busy(
        "too many requests of operators, or of this token, are waiting; try again (GET /admin/queue?streams=0 needs no waiting)"
    )

    static func busy(_ reason: String) -> HTTPProblem { HTTPProblem(503, "ServerBusy", reason) }

    static func query(_ reason: String) -> HTTPProblem {
        HTTPProblem(400, "ParameterInvalid", reason)
    }

    static func body(_ reason: String) -> HTTPProblem {
        HTTPProblem(400, "PostBodyInvalid", reason)
    }
}

/// Reads from the queue.
func reading<Result>(_ body: () throws(QueueError) -> Result) throws(HTTPProblem) -> Result {
    do throws(QueueError) {
        return try body()
    } catch {
        throw .busy(error.description)
    }
}
