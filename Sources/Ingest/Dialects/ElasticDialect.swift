import Configuration
import HTTP
import JSON
import Logs
import Queue
import System

/// Elasticsearch's `POST /_bulk`, `POST /{index}/_bulk` and, from clients before version 8, `POST
/// /{index}/{type}/_bulk`: documents to write, one on a line, each after a line with its action.
/// The type is ignored.
struct ElasticDialect: LogDialect {
    /// The tag of requests whose path names no index.
    private static let tag = "elastic"

    /// Percent-encoded, in the head.
    private let index: Range<Int>?
    private let media: ElasticMedia

    var label: DeviceLabel { .elastic }
    var methods: DeviceMethods { .bulk }

    init?(_ path: UnsafeBufferPointer<UInt8>, _ head: RequestHead) {
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

    func admit(_ head: RequestHead) throws(Refusal) -> AddressedReader {
        var name: String?
        if let index { name = try ElasticIndex.name(head.bytes[index]) }
        let tag = name.map { ElasticIndex.tag(of: $0) } ?? Self.tag
        return (head.address(orTag: tag), BulkLogReader(index: name, media: media))
    }

    func refused(_ refusal: Refusal) -> Response { media.response(refusal) }
}

/// Reads the documents of a bulk, and answers for each.
private struct BulkLogReader: LogReader {
    /// The index in the path, of documents that name none.
    let index: String?
    let media: ElasticMedia

    var bodyNamesLogstores: Bool { true }

    func read(_ request: LogRequest, _ decoder: BodyDecoder) throws(Refusal) -> TakenLogs {
        let logs = try Refusal.decoding(
            try decoder.json.decodeBulk(request.body, index: index)
        )
        let targets = logs.parts.map { part in
            Result { () throws(Refusal) in try target(of: part.index, request) }
        }
        // Parts without logs need no room.
        let wanted = zip(logs.parts, targets).filter { $0.0.logs.sound.count > 0 }
            .compactMap { try? $0.1.get() }.filter { !$0.isRouted }.map(\.outlet)
        let crowdedOut = request.queue.crowdedOut(wanted)
        var taken = TakenLogs([])
        var indices: [ElasticIndex] = []
        for (part, target) in zip(logs.parts, targets) {
            let tag = ElasticIndex.tag(of: part.index)
            // A refused index costs its own documents only.
            do throws(Refusal) {
                let target = try target.get()
                guard part.logs.sound.count == 0 || !crowdedOut.contains(target.outlet) else {
                    throw .noRoom
                }
                let tracked = TrackedLogs(logs: part.logs)
                taken.groups.append(LogGroup(tracked, target, tag: tag, fallbackTopic: tag))
                indices.append(ElasticIndex(name: part.index))
            } catch {
                taken.refusedTags.append(tag)
                indices.append(ElasticIndex(name: part.index, refusal: error))
            }
        }
        try answer(logs, indices, of: request, in: &taken)
        return taken
    }

    /// Sets the answer, and the identity of a request with refused documents.
    private func answer(
        _ logs: BulkLogs,
        _ indices: [ElasticIndex],
        of request: LogRequest,
        in taken: inout TakenLogs
    ) throws(Refusal) {
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
                taken.identity = request.identity(.bulk, [taken.outcome])
            }
        }
        // Before anything is stored: after that the answer is owed.
        let bytesMax = request.limits.http.answerBytes
        guard let body = answer.body(atMost: bytesMax) else {
            throw .answerTooLarge(of: logs.items.count, most: bytesMax)
        }
        let response = media.response(200, body)
        taken.answerBytes = body.count
        taken.answer = { _ in response }
    }

    private func target(
        of index: String,
        _ request: LogRequest
    ) throws(Refusal) -> RoutingTable.Target {
        guard TagText.isSound(index) else { throw .badIndex }
        return try request.target(ofTag: ElasticIndex.tag(of: index))
    }
}

extension RequestHead {
    /// The members of the answer that the client asks for.
    fileprivate var filterPath: String? {
        queryPairs?.last { $0.name == "filter_path" }?.value
    }
}

/// One document, on any number of lines: Elasticsearch's `POST /{index}/_doc` and, with an id that
/// the client chose, `PUT` or `POST` to `/{index}/_doc/{id}` and `/{index}/_create/{id}`.
///
/// A document that is sent again with its id and its content is stored once, and gets the first
/// answer. With other content it is another log, since logs are written once.
struct ElasticDocument: LogDialect {
    /// Elasticsearch's own limit.
    private static let idBytes = 1...512

    /// Percent-encoded, in the head.
    private let indexRange: Range<Int>
    private let idRange: Range<Int>?
    private let media: ElasticMedia

    var label: DeviceLabel { .elastic }
    var methods: DeviceMethods { idRange == nil ? .post : .bulk }

    init?(_ path: UnsafeBufferPointer<UInt8>, _ head: RequestHead) {
        guard path.count > 1, path[1] != UInt8(ascii: "_"),
            let end = path[1...].firstIndex(of: UInt8(ascii: "/")), end > 1
        else { return nil }
        let offset = head.path.lowerBound
        let rest = UnsafeBufferPointer(rebasing: path[end...])
        if rest.equals("/_doc") || rest.equals("/_doc/") {
            idRange = nil
        } else {
            let verb = rest.begins(with: "/_doc/") ? 6 : rest.begins(with: "/_create/") ? 9 : 0
            let name = rest[verb...]
            guard verb > 0, !name.isEmpty, !name.contains(UInt8(ascii: "/")) else { return nil }
            idRange = offset + end + verb..<offset + path.count
        }
        indexRange = offset + 1..<offset + end
        media = ElasticMedia(head)
    }

    func admit(_ head: RequestHead) throws(Refusal) -> AddressedReader {
        let index = try ElasticIndex.name(head.bytes[indexRange])
        let reader = DocumentLogReader(index: index, id: try id(head), media: media)
        return (head.address(orTag: ElasticIndex.tag(of: index)), reader)
    }

    private func id(_ head: RequestHead) throws(Refusal) -> String? {
        guard let idRange else { return nil }
        guard let text = percentDecodedText(head.bytes[idRange]),
            Self.idBytes.contains(text.utf8.count)
        else {
            throw .badParameter("an id has 1 to \(Self.idBytes.upperBound) bytes of UTF-8")
        }
        return text
    }

    func refused(_ refusal: Refusal) -> Response { media.response(refusal) }
}

private struct DocumentLogReader: LogReader {
    let index: String
    /// nil: the client leaves it to the server.
    let id: String?
    let media: ElasticMedia

    var tag: String? { ElasticIndex.tag(of: index) }

    func read(_ request: LogRequest, _ decoder: BodyDecoder) throws(Refusal) -> TakenLogs {
        let logs = try Refusal.decoding(
            try decoder.json.decodeDocument(request.body, id: id)
        )
        let tag = ElasticIndex.tag(of: index)
        let tracked = TrackedLogs(logs: logs)
        var taken = TakenLogs([
            LogGroup(tracked, request.target, tag: tag, fallbackTopic: tag)
        ])
        if let id, request.recognizesContent {
            taken.identity = request.identity(.document, [index, id])
        }
        let (media, index, id) = (media, index, id)
        taken.answer = { acceptance in
            // A repetition has the first receipt, and so the same id.
            media.response(201, Self.created(index, id ?? acceptance.receiptText))
        }
        return taken
    }

    private static func created(_ index: String, _ id: String) -> [UInt8] {
        let names = #""_index":\#(jsonQuoted(index)),"_id":\#(jsonQuoted(id))"#
        let shards = #""_shards":{"total":1,"successful":1,"failed":0}"#
        let rest = #""_version":1,"result":"created",\#(shards),"_seq_no":0,"_primary_term":1"#
        return Array("{\(names),\(rest)}".utf8)
    }
}
