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

    /// `GET /admin/queue/peek`: the oldest waiting logs of a destination, which stay queued.
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
        let found = cluster.ask(nodes, request)
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

    /// nil when the queue's thread does not answer in time, for example because the disk hangs.
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

struct QueueView {
    let report: GatewayReport
    /// nil: all destinations.
    let destination: String?
    /// nil if streams were not requested or could not be read.
    let listing: StreamListing?
    /// Devices choose names of streams, which may be long. Streams beyond this are only counted.
    let bytesMax: Int

    var destinations: [GatewayReport.Destination] {
        report.destinations.filter { destination ?? $0.name == $0.name }
    }

    /// nil if `listing` is; empty if nothing waits.
    func streams(of destination: String) -> StreamListing.Destination? {
        listing.map { $0.destinations[destination] ?? StreamListing.Destination() }
    }

    /// All gateways' answers together. The gateway that joins them holds each several times.
    private static let bytesTogether = 4 << 20

    /// The size of one gateway's answer. All have the same share, and know it without asking.
    static func share(of gateways: Int) -> Int { bytesTogether / max(1, gateways) }

    /// `GET /admin/queue`: the backlog, its bounds and its age.
    func write(_ json: inout JSONWriter) {
        let now = report.now
        json.member("queued_logs", report.queue.ledger.queued)
        json.object("queue") { $0.queue(report.queue, now: now) }
        json.object("destinations") { json in
            for destination in destinations {
                json.object(destination.name) { json in
                    json.member("queued_logs", destination.queue.ledger.queued)
                    json.backlog(destination.queue, now: now)
                    json.objects("outlets", destination.outlets) { json, outlet in
                        json.member("logstore", outlet.logstore)
                        json.member("queued_logs", outlet.queue.queued)
                        json.member("packets", outlet.queue.packets)
                        json.age("oldest_seconds", of: outlet.queue.oldest, now: now)
                    }
                    write(streams(of: destination.name), into: &json)
                }
            }
        }
    }

    private func write(_ streams: StreamListing.Destination?, into json: inout JSONWriter) {
        guard let streams else {
            json.member("streams", String?.none)
            return json.member("streams_more", Int?.none)
        }
        var more = streams.more
        json.array("streams") { json in
            for entry in streams.entries {
                guard json.bytes.count < bytesMax else {
                    more += 1
                    continue
                }
                json.object { $0.stream(entry, now: report.now) }
            }
        }
        json.member("streams_more", more)
    }
}

extension JSONWriter {
    fileprivate mutating func stream(_ entry: StreamListing.Entry, now: WallTime) {
        let names = StreamNames(entry.stream)
        member("logstore", names.logstore)
        member("topic", names.topic)
        member("source", names.source)
        // An array: tags may repeat a name, and another order of tags is another stream.
        objects("tags", names.tags) { json, tag in
            json.member("key", tag.key)
            json.member("value", tag.value)
        }
        member("tags_more", names.tagsLeft)
        member("queued_logs", entry.logs)
        member("raw_bytes", entry.rawBytes)
        member("packets", entry.packets)
        age("oldest_seconds", of: entry.oldest, now: now)
    }
}

/// The names of a stream without known secrets, cut to a bounded size.
struct StreamNames {
    static let scalarsMax = 256
    static let tagsMax = 32

    let logstore: String
    let topic: String
    let source: String
    let tags: [(key: String, value: String)]
    let tagsLeft: Int

    init(_ key: StreamKey) {
        logstore = Self.cut(key.logstore)
        topic = Self.cut(key.trailer.topic)
        source = Self.cut(key.trailer.source)
        let all = key.trailer.tags
        tags = all.prefix(Self.tagsMax).map { (Self.cut($0.key), Self.cut($0.value)) }
        tagsLeft = all.count - tags.count
    }

    private static func cut(_ text: String) -> String {
        // A long label was cut before it was stored, perhaps within a secret.
        let text = Mask.hidingKnownSecrets(in: text, isCut: true)
        let scalars = text.unicodeScalars
        guard scalars.count > scalarsMax else { return text }
        return String(scalars.prefix(scalarsMax)) + "…"
    }
}
