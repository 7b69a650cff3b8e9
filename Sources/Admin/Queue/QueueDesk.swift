import HTTP
import Ingest
import JSON
import Logs
import Operations
import Queue
import System

/// Answers `GET /admin/queue`: the waiting logs by destination and stream, and their age.
struct QueueDesk {
    private static let patience: Duration = .seconds(2)
    /// What the answers of all gateways may have together. One that waits for the others holds each several times.
    private static let bytesTogether = 4 << 20

    let reporter: Reporter
    let store: any GatewayQueue
    /// The thread for long reads.
    let views: SerialWorker
    /// False: another gateway asks, and wants only what is here.
    var relays = true

    func show(_ head: RequestHead, _ responder: Responder) {
        do throws(HTTPProblem) {
            let wish = try StreamWish(head)
            if let name = wish.destination {
                let known = reporter.report.destinations
                guard known.contains(where: { $0.name == name }) else { throw .noDestination(name) }
            }
            // Answered at once, whatever the queue's thread does.
            guard wish.count > 0 else {
                return responder.send(response(wish, nil))
            }
            let request = RelayedRequest(head, Self.reader(head))
            // A slow read delays neither the queue's thread nor the thread of changes.
            let isTaken = views.post {
                let own = response(wish, listing(wish))
                responder.send(withOthers(own, request))
            }
            guard isTaken else { throw .tooManyViews }
        } catch {
            responder.send(error.response)
        }
    }

    private static let peekMax = 100

    /// `GET /admin/queue/peek`: the oldest waiting logs of a destination, which stay where they are.
    func peek(_ head: RequestHead, _ responder: Responder) {
        do throws(HTTPProblem) {
            let (destination, logstore, limit) = try peekWish(head)
            let request = RelayedRequest(head, Self.reader(head))
            let isTaken = views.post {
                do throws(QueueError) {
                    let found = try store.oldestLogs(
                        of: destination,
                        logstore: logstore,
                        limit: limit
                    )
                    // A control character has six bytes in JSON.
                    let logs = Array(found.prefix(within: share / 6))
                    responder.send(withOthers(Response(json: Self.document(logs)), request))
                } catch {
                    responder.send(HTTPProblem(503, "ServerBusy", error.description).response)
                }
            }
            guard isTaken else { throw .tooManyViews }
        } catch {
            responder.send(error.response)
        }
    }

    /// What one of so many gateways may answer. Each has the same share, and knows it without a question.
    static func share(of gateways: Int) -> Int { bytesTogether / max(1, gateways) }

    private var share: Int { Self.share(of: ClusterView(store: store).look().nodes.count + 1) }

    /// The audit log has no lines about readers, so they need no name.
    private static func reader(_ head: RequestHead) -> Operator {
        Operator(name: "", address: head.peer.host)
    }

    /// The answer with those of the other gateways behind it.
    private func withOthers(_ own: Response, _ request: RelayedRequest) -> Response {
        let cluster = ClusterView(store: store)
        guard relays, store.others != nil else { return own }
        let sight = cluster.look()
        let nodes = sight.nodes
        let found = cluster.ask(nodes, .request(request)).compactMapValues { bytes in
            ClusterAnswer.response(bytes)
        }
        let answers = found.filter { $0.value.status == 200 }.mapValues(\.body)
            .sorted { $0.key < $1.key }
        let silent = nodes.filter { found[$0]?.status != 200 }.sorted()
        let unattended = sight.unattended.sorted()
        var json = JSONWriter()
        json.object { json in
            // The document without its braces and its line end.
            own.body.dropFirst().dropLast(2).withUnsafeBytes { json.members(written: $0) }
            json.object("other_gateways") { json in
                for (node, body) in answers {
                    json.member(node, written: String(decoding: body.dropLast(), as: UTF8.self))
                }
            }
            json.array("missing") { json in
                for name in silent + unattended + sight.unseen { json.element(name) }
            }
        }
        return Response(json: json.text + "\n")
    }

    private func peekWish(
        _ head: RequestHead
    ) throws(HTTPProblem) -> (destination: String, logstore: String?, limit: Int) {
        guard let pairs = head.queryPairs else {
            throw HTTPProblem(400, "ParameterInvalid", "the query cannot be read")
        }
        let texts = Dictionary(pairs.map { ($0.name, $0.value) }) { first, _ in first }
        guard let destination = texts["destination"] else {
            throw HTTPProblem(400, "ParameterInvalid", "name a destination: ?destination=NAME")
        }
        let report = reporter.report
        let isKnown =
            report.destinations.contains { $0.name == destination }
            || report.strangers[destination] != nil
        guard isKnown else { throw .noDestination(destination) }
        var limit = 20
        if let text = texts["limit"] {
            guard let number = Int(text), (1...Self.peekMax).contains(number) else {
                throw HTTPProblem(
                    400,
                    "ParameterInvalid",
                    "limit cannot be \(clipped(text)); it is 1 to \(Self.peekMax)"
                )
            }
            limit = number
        }
        return (destination, texts["logstore"], limit)
    }

    private static func document(_ logs: [QueuedLog]) -> JSONWriter {
        var json = JSONWriter()
        json.object { json in
            json.array("logs") { json in
                for log in logs {
                    json.object { json in
                        json.stream(log.stream)
                        json.member("accepted", log.accepted.rfc3339)
                        json.object("log") { $0.log(Mask.hidingKnownSecrets(in: log.entry)) }
                    }
                }
            }
        }
        return json
    }

    /// nil when the queue's thread does not answer in time, for example because the disk hangs. The rest is shown anyway.
    private func listing(_ wish: StreamWish) -> StreamListing? {
        guard let outcome = try? Promise<StreamListing?>() else { return nil }
        store.list(wish) { outcome.bring($0) }
        return outcome.wait(atMost: Self.patience) ?? nil
    }

    private func response(
        _ wish: StreamWish,
        _ listing: StreamListing?
    ) -> Response {
        let view = QueueView(
            report: reporter.report,
            destination: wish.destination,
            listing: listing,
            bytesMax: listing == nil ? 0 : share
        )
        return Response(json: view.document)
    }
}

extension StreamWish {
    private static let known =
        "known: destination, streams (0 to 1000), order (oldest, largest)"

    init(_ head: RequestHead) throws(HTTPProblem) {
        func problem(_ reason: String) -> HTTPProblem {
            HTTPProblem(400, "ParameterInvalid", "\(reason); \(Self.known)")
        }
        self.init()
        guard let pairs = head.queryPairs else { throw problem("the query cannot be read") }
        for (name, value) in pairs {
            switch name {
            case "destination": destination = value
            case "streams":
                guard value.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                    let number = Int(value), number <= Self.countMax
                else { throw problem("streams cannot be \(clipped(value))") }
                count = number
            case "order":
                guard let order = Order(rawValue: value) else {
                    throw problem("order cannot be \(clipped(value))")
                }
                self.order = order
            default: throw problem("\(clipped(name)) is not a parameter here")
            }
        }
    }
}

/// The data of one answer about the queue.
struct QueueView {
    let report: GatewayReport
    /// nil: all destinations.
    let destination: String?
    /// nil if streams were not requested or could not be read.
    let listing: StreamListing?
    /// Devices choose the names of streams, which may be long. Streams beyond this size are only counted.
    let bytesMax: Int

    var destinations: [GatewayReport.Destination] {
        report.destinations.filter { destination ?? $0.name == $0.name }
    }

    /// nil if `listing` is; empty if nothing waits.
    func streams(of destination: String) -> StreamListing.Destination? {
        listing.map { $0.destinations[destination] ?? StreamListing.Destination() }
    }
}
