import Configuration
import HTTP
import JSON
import Net
import Operations
import Queue
import Synchronization
import System

/// A permitted request of the admin API, on any thread. The desks extend it with operations.
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

    /// Answers on a worker thread. A relayed request is on its thread already.
    func respond(on thread: Thread, _ work: @escaping @Sendable () throws(HTTPProblem) -> Response?)
    {
        guard !isRelayed else { return respond(work) }
        let workers = shared.parts.workers
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
    init(_ status: Int = 200, text: String) {
        self.init(status: status, contentType: "text/plain; charset=utf-8", text: text)
    }

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

    subscript(field: String) -> String? { fields.first { $0.name == field }?.value }

    /// Adds the header with the start of the next page.
    mutating func continues(at next: (some CustomStringConvertible)?) {
        if let next { fields.append(("x-sluice-next", "\(next)")) }
    }
}

extension HTTPProblem {
    static let tooManyViews = busy(
        "too many requests of operators, or of this token, are waiting; try again (GET /admin/queue?streams=0 needs no waiting)"
    )

    static func body(_ reason: String) -> HTTPProblem {
        HTTPProblem(400, "PostBodyInvalid", reason)
    }
}

func reading<Result>(_ body: () throws(QueueError) -> Result) throws(HTTPProblem) -> Result {
    do throws(QueueError) {
        return try body()
    } catch {
        throw .busy(error.description)
    }
}

extension RequestHead {
    /// True unless the query has `dry=false`. The check of the query refuses other values.
    var isDryReplay: Bool { parameter("dry") != "false" }

    /// True if the request declares a JSON body.
    var announcesJSON: Bool {
        let type = field("content-type")?.lowercased().prefix { $0 != ";" && $0 != " " }
        return type == "application/json" || type == "application/x-ndjson"
    }

    /// The value of a parameter; `AdminRoute.problem(withQueryOf:)` has checked the names.
    func parameter(_ name: String) -> String? {
        queryPairs?.first { $0.name == name }?.value
    }

    func number(_ name: String, _ range: ClosedRange<Int>) throws(HTTPProblem) -> Int? {
        guard let value = parameter(name) else { return nil }
        guard value.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(value),
            range.contains(number)
        else {
            let most = range.upperBound == .max ? "more" : "\(range.upperBound)"
            throw .query(
                "\(name) cannot be \(clipped(value)); it is \(range.lowerBound) to \(most)"
            )
        }
        return number
    }
}

extension PeerAddress {
    /// The address, or the /64 of an IPv6 address, because a host chooses the second half freely.
    var neighbourhood: Neighbourhood {
        (address ?? IPAddress(v6: 0, 0)).neighbourhood
    }
}

/// Answers a change that was not made because the gateway stopped before its turn.
final class AnswerOnStop: Sendable {
    private let worker: SerialWorker
    private let deliver: @Sendable (Response) -> Void
    private let isGiven = Atomic<Bool>(false)

    init(_ worker: SerialWorker, _ deliver: @escaping @Sendable (Response) -> Void) {
        self.worker = worker
        self.deliver = deliver
    }

    deinit {
        guard worker.isEnding, !isGiven.load(ordering: .relaxed) else { return }
        deliver(HTTPProblem.stopping.response)
    }

    func give(_ response: Response) {
        isGiven.store(true, ordering: .relaxed)
        deliver(response)
    }
}

extension HTTPProblem {
    fileprivate static let stopping = HTTPProblem(
        503,
        "ServerBusy",
        "the gateway is stopping and changed nothing; retry after the restart"
    )
}
