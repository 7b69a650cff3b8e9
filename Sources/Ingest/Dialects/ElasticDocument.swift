import Configuration
import HTTP
import JSON
import Logs
import System

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

    init?(_ path: UnsafeBufferPointer<UInt8>, _ head: borrowing RequestHead) {
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

    func admit(_ head: RequestHead) throws(Refusal) -> (address: LogAddress, reader: any LogReader)
    {
        let index = try ElasticIndex.name(head.bytes[indexRange])
        let reader = DocumentLogReader(index: index, id: try id(head), media: media)
        return (head.address(orTag: ElasticIndex.tag(of: index)), reader)
    }

    private func id(_ head: RequestHead) throws(Refusal) -> String? {
        guard let idRange else { return nil }
        guard let text = percentDecodedText(head.bytes[idRange]),
            Self.idBytes.contains(text.utf8.count)
        else {
            throw Refusal(
                400,
                "ParameterInvalid",
                "an id has 1 to \(Self.idBytes.upperBound) bytes of UTF-8"
            )
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
        let logs: DecodedLogs
        do throws(LogDecodingError) {
            logs = try decoder.json.decodeDocument(
                request.content,
                request.timing,
                request.rules,
                id: id
            )
        } catch {
            throw Refusal(error)
        }
        let tag = ElasticIndex.tag(of: index)
        let tracked = TrackedLogs(logs: logs)
        var taken = TakenLogs([
            LogGroup(tracked, request.target, tag: tag, fallbackTopic: tag)
        ])
        if let id, request.recognizesContent {
            taken.identity = RequestIdentity.document(
                id,
                of: index,
                content: request.content,
                request.target
            )
        }
        let (media, index, id) = (media, index, id)
        taken.answer = { acceptance in
            // A repetition has the first receipt, and so the same id.
            media.response(201, Self.created(index, id ?? acceptance.receipt))
        }
        return taken
    }

    private static func created(_ index: String, _ id: String) -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("_index", index)
            json.member("_id", id)
            json.member("_version", 1)
            json.member("result", "created")
            json.object("_shards") { json in
                json.member("total", 1)
                json.member("successful", 1)
                json.member("failed", 0)
            }
            json.member("_seq_no", 0)
            json.member("_primary_term", 1)
        }
        return json.bytes
    }
}
