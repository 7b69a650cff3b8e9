import Configuration
import HTTP
import Logs
import Queue
import System

/// Elasticsearch's `POST /_bulk`, `POST /{index}/_bulk` and, from clients before version 8, `POST
/// /{index}/{type}/_bulk`: documents to write, one on a line, each after a line with its action. The type is ignored.
struct ElasticDialect: LogDialect {
    /// The tag of requests whose path names no index.
    private static let tag = "elastic"

    /// Percent-encoded, in the head.
    private let index: Range<Int>?
    private var name: String?
    private let media: ElasticMedia

    var label: DeviceLabel { .elastic }
    var methods: DeviceMethods { .bulk }
    var bodyNamesLogstores: Bool { true }

    init?(_ path: UnsafeBufferPointer<UInt8>, _ head: borrowing RequestHead) {
        var end = path.count
        // Fluent Bit appends a slash when a pipeline is set.
        if end > 0, path[end - 1] == UInt8(ascii: "/") { end -= 1 }
        let start = end - "/_bulk".utf8.count
        guard start >= 0, UnsafeBufferPointer(rebasing: path[start..<end]).equals("/_bulk") else {
            return nil
        }
        if start == 0 {
            index = nil
        } else {
            let name = path[1..<start].prefix { $0 != UInt8(ascii: "/") }
            let type = path[name.endIndex..<start].dropFirst()
            guard !name.isEmpty, name.endIndex == start || !type.isEmpty,
                !type.contains(UInt8(ascii: "/"))
            else { return nil }
            index = head.path.lowerBound + 1..<head.path.lowerBound + name.endIndex
        }
        media = ElasticMedia(head)
    }

    mutating func readHead(_ head: RequestHead) throws(Refusal) -> LogAddress {
        if let index { name = try ElasticIndex.name(head.bytes[index]) }
        if let logstore = head.field("x-log-logstore"), !logstore.isEmpty {
            return .logstore(logstore)
        }
        return .tag(name.map { ElasticIndex.tag(of: $0) } ?? Self.tag)
    }

    func read(_ request: LogRequest, _ reader: BodyDecoder) throws(Refusal) -> TakenLogs {
        let logs: BulkLogs
        do throws(LogDecodingError) {
            logs = try reader.decoder.decodeBulk(
                request.content,
                request.timing,
                request.rules,
                index: name
            )
        } catch {
            throw Refusal(error)
        }
        let targets = logs.parts.map { part in
            Result { () throws(Refusal) in try target(of: part.index, request) }
        }
        // Parts without logs take no place.
        let wanted = zip(logs.parts, targets).filter { $0.0.logs.sound.count > 0 }
            .compactMap { try? $0.1.get().outlet }
        let crowdedOut = request.queue.crowdedOut(wanted)
        var groups: [(TrackedLogs, RoutingTable.Target)] = []
        var indices: [ElasticIndex] = []
        for (part, target) in zip(logs.parts, targets) {
            // A refused index costs its own documents only.
            do throws(Refusal) {
                let target = try target.get()
                guard part.logs.sound.count == 0 || !crowdedOut.contains(target.outlet) else {
                    throw .noPlace
                }
                groups.append((TrackedLogs(part, target), target))
                indices.append(ElasticIndex(part.index, nil))
            } catch {
                indices.append(ElasticIndex(part.index, error))
            }
        }
        var taken = TakenLogs(groups, of: request)
        let answer = BulkAnswer(
            items: logs.items,
            indices: indices,
            parts: BulkAnswer.Parts(filterPath: request.head.filterPath)
        )
        if answer.hasErrors {
            // The index may be that of the path, which the content does not name.
            taken.outcome = zip(indices, logs.parts).map { index, part in
                "\(ElasticIndex.tag(of: part.index)) \(index.refusal?.status ?? 201) \(part.logs.count)"
            }.joined(separator: ",")
            if request.recognizesContent, logs.items.areDistinct {
                let (content, target) = (request.content, request.target)
                taken.identity = RequestIdentity.bulk(taken.outcome, content: content, target)
            }
        }
        // Before anything is stored: after that the answer is owed.
        let bytesMax = request.limits.http.answerBytes
        guard let body = answer.body(atMost: bytesMax) else {
            throw .answerTooLarge(of: logs.items.count, most: bytesMax)
        }
        let response = media.response(200, body)
        taken.answerBytes = body.count
        taken.accepted = { _ in response }
        return taken
    }

    /// A logstore in the head applies to all documents.
    private func target(
        of index: String,
        _ request: LogRequest
    ) throws(Refusal) -> RoutingTable.Target {
        guard TagText.isSound(index) else { throw .badIndex }
        let tag = ElasticIndex.tag(of: index)
        guard let known = request.target.tag, !known.hasSameBytes(as: tag) else {
            return request.target
        }
        return try request.table.target(
            host: request.head.field("host"),
            project: request.head.field("x-log-project"),
            .tag(tag)
        )
    }

    /// Not used: `read` makes the answer.
    func accepted(_ acceptance: Acceptance) -> Response { Response(status: 200) }

    func refused(_ refusal: Refusal) -> Response { media.response(refusal) }
}

extension TrackedLogs {
    fileprivate init(_ part: BulkLogs.Part, _ target: RoutingTable.Target) {
        let topic = target.labels.topic
        self.init(
            logs: part.logs,
            topic: topic.isEmpty ? ElasticIndex.tag(of: part.index) : topic
        )
    }
}

extension RequestHead {
    /// The members of the answer that the client asks for.
    fileprivate var filterPath: String? {
        queryPairs?.last { $0.name == "filter_path" }?.value
    }
}
