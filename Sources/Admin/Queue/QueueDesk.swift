import HTTP
import Ingest
import JSON
import Logs
import Operations
import Queue
import System

/// The waiting logs by destination and stream, their age, and the oldest of them.
extension AdminCall {
    private static let patience: Duration = .seconds(2)

    /// `GET /admin/queue`.
    func queue() throws(HTTPProblem) -> Response? {
        let wish = try StreamWish(head)
        if let name = wish.destination {
            let known = shared.report.destinations
            guard known.contains(where: { $0.name == name }) else { throw .noDestination(name) }
        }
        // Answered at once, whatever the queue's thread does.
        guard wish.count > 0 else { return answer(wish, nil) }
        // A slow read delays neither the queue's thread nor the thread of changes.
        respond(on: .views) { withOthers(answer(wish, listing(wish))) }
        return nil
    }

    /// `GET /admin/queue/peek`: the oldest waiting logs of a destination, which stay where they
    /// are.
    func oldestLogs() throws(HTTPProblem) -> Response {
        guard let destination = head.parameter("destination") else {
            throw .query("name a destination: ?destination=NAME")
        }
        let report = shared.report
        let isKnown =
            report.destinations.contains { $0.name == destination }
            || report.strangers[destination] != nil
        guard isKnown else { throw .noDestination(destination) }
        let limit = try head.number("limit", 1...100) ?? 20
        let found = try reading { () throws(QueueError) in
            try shared.store.oldestLogs(
                of: destination,
                logstore: head.parameter("logstore"),
                limit: limit
            )
        }
        // A control character has six bytes in JSON.
        let logs = Array(found.prefix(within: share / 6))
        let own = Response.json { json in
            json.objects("logs", logs) { json, log in
                json.stream(log.stream)
                json.member("accepted", log.accepted.rfc3339)
                json.object("log") { $0.log(Mask.hidingKnownSecrets(in: log.entry)) }
            }
        }
        return withOthers(own)
    }

    private var share: Int { QueueView.share(of: cluster.look().nodes.count + 1) }

    /// The answer with those of the other gateways behind it.
    private func withOthers(_ own: Response) -> Response {
        guard !isRelayed, shared.store.others != nil else { return own }
        let request = RelayedRequest(head, actor)
        let sight = cluster.look()
        let nodes = sight.nodes
        let found = cluster.ask(nodes, .request(request)).compactMapValues { bytes in
            ClusterAnswer.response(bytes)
        }
        let answers = found.filter { $0.value.status == 200 }.mapValues(\.body)
            .sorted { $0.key < $1.key }
        let silent = nodes.filter { found[$0]?.status != 200 }.sorted()
        let unattended = sight.unattended.sorted()
        return .json { json in
            // The document without its braces and its line end.
            own.body.dropFirst().dropLast(2).withUnsafeBytes { json.members(written: $0) }
            json.object("other_gateways") { json in
                for (node, body) in answers {
                    json.member(node, written: String(decoding: body.dropLast(), as: UTF8.self))
                }
            }
            json.texts("missing", silent + unattended + sight.unseen)
        }
    }

    /// nil when the queue's thread does not answer in time, for example because the disk hangs. The
    /// rest is shown anyway.
    private func listing(_ wish: StreamWish) -> StreamListing? {
        guard let outcome = try? Promise<StreamListing?>() else { return nil }
        shared.store.list(wish) { outcome.bring($0) }
        return outcome.wait(atMost: Self.patience) ?? nil
    }

    private func answer(_ wish: StreamWish, _ listing: StreamListing?) -> Response {
        let view = QueueView(
            report: shared.report,
            destination: wish.destination,
            listing: listing,
            bytesMax: listing == nil ? 0 : share
        )
        return .json(200, view.write)
    }
}

extension StreamWish {
    init(_ head: RequestHead) throws(HTTPProblem) {
        self.init()
        destination = head.parameter("destination")
        count = try head.number("streams", 0...Self.countMax) ?? count
        guard let text = head.parameter("order") else { return }
        guard let order = Order(rawValue: text) else {
            let known = Order.allCases.map(\.rawValue).joined(separator: ", ")
            throw .query("order cannot be \(clipped(text)); known: \(known)")
        }
        self.order = order
    }
}

/// The data of one answer about the queue.
struct QueueView {
    let report: GatewayReport
    /// nil: all destinations.
    let destination: String?
    /// nil if streams were not requested or could not be read.
    let listing: StreamListing?
    /// Devices choose the names of streams, which may be long. Streams beyond this size are only
    /// counted.
    let bytesMax: Int

    var destinations: [GatewayReport.Destination] {
        report.destinations.filter { destination ?? $0.name == $0.name }
    }

    /// nil if `listing` is; empty if nothing waits.
    func streams(of destination: String) -> StreamListing.Destination? {
        listing.map { $0.destinations[destination] ?? StreamListing.Destination() }
    }

    /// What the answers of all gateways may have together. One that waits for the others holds each
    /// several times.
    private static let bytesTogether = 4 << 20

    /// What one of so many gateways may answer. Each has the same share, and knows it without a
    /// question.
    static func share(of gateways: Int) -> Int { bytesTogether / max(1, gateways) }
}
