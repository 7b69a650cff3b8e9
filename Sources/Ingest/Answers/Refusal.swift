import Configuration
package import HTTP
import JSON
package import Logs
package import Queue
import System

/// A request that is not accepted. Each kind of client gets it in the form that it understands.
package struct Refusal: Error, Equatable, Sendable {
    /// With SLS's code, such as `PostBodyInvalid`, and a reason for the developer of the client.
    package var problem: HTTPProblem
    /// The index of the log at fault.
    package var item: Int?

    package init(
        _ status: Int,
        _ code: String,
        _ reason: String,
        position: Int? = nil,
        retryAfter: Int? = nil,
        item: Int? = nil
    ) {
        problem = HTTPProblem(status, code, reason, position: position, retryAfter: retryAfter)
        self.item = item
    }

    static func badParameter(_ reason: String) -> Refusal {
        Refusal(400, "ParameterInvalid", reason)
    }

    static func badBody(_ reason: String, position: Int? = nil) -> Refusal {
        Refusal(400, "PostBodyInvalid", reason, position: position)
    }

    static func badContentType(_ reason: String) -> Refusal {
        Refusal(415, "ContentTypeInvalid", reason)
    }

    static func tooLarge(_ reason: String, position: Int? = nil) -> Refusal {
        Refusal(413, "PostBodyTooLarge", reason, position: position)
    }

    static func unauthorized(_ reason: String) -> Refusal {
        Refusal(401, "Unauthorized", reason)
    }

    static func noLogstore(_ reason: String) -> Refusal {
        Refusal(404, "LogStoreNotExist", reason)
    }

    /// Clients keep the logs, and send them again.
    static func busy(_ reason: String, retryAfter: Int? = nil) -> Refusal {
        Refusal(503, "ServerBusy", reason, retryAfter: retryAfter)
    }

    /// A fault of our own encoding, not of the client's.
    static let encodedWrongly = Refusal(
        500,
        "InternalServerError",
        "the logs were encoded wrongly"
    )

    /// The result of a decoder, whose error refuses the request.
    static func decoding<Logs>(
        _ logs: @autoclosure () throws(LogDecodingError) -> Logs
    ) throws(Refusal) -> Logs {
        do throws(LogDecodingError) {
            return try logs()
        } catch {
            throw Refusal(error)
        }
    }

    /// A request that the server refused before it called the handler.
    init(_ problem: RequestProblem) {
        self.problem = HTTPProblem(problem)
    }

    package var status: Int { problem.status }
    package var code: String { problem.code }
    package var reason: String { problem.message }
}

enum ErrorShape {
    /// SLS's own JSON, at most 255 bytes: the iOS SDK copies the body into a buffer of 256.
    case sls
    /// Our own JSON, for `/logs` and for paths that are not SLS's.
    case plain

    func response(_ refusal: Refusal) -> Response {
        switch self {
        case .sls:
            Response(
                status: refusal.status,
                contentType: "application/json",
                text: slsErrorBody(code: refusal.code, message: refusal.reason)
            )
        case .plain: refusal.problem.response
        }
    }
}

/// `{"errorCode":"…","errorMessage":"…"}` in at most `bytesMax` bytes: the message is cut between
/// characters, and the rest is still JSON.
func slsErrorBody(code: String, message: String, bytesMax: Int = 255) -> String {
    let start = "{\"errorCode\":\(jsonQuoted(code)),\"errorMessage\":\""
    let end = "\"}"
    var room = bytesMax - start.utf8.count - end.utf8.count
    var written = ""
    for scalar in message.unicodeScalars {
        let escaped = jsonQuoted(String(scalar)).dropFirst().dropLast()
        guard escaped.utf8.count <= room else { break }
        room -= escaped.utf8.count
        written += escaped
    }
    return start + written + end
}

// Every reason to refuse a request of a device, with the status and the code that its clients act
// on.

// MARK: - Body

extension Refusal {
    /// Names the destination that has no room, if it is known.
    package init(_ admission: QueueAdmission, of destination: String? = nil) {
        let full = destination.map { "the destination \($0)" } ?? "this destination"
        let reason =
            switch admission {
            case .open: "try again"
            case .full: "the queue is full; keep the logs and send them again later"
            case .destinationFull:
                "the queue of \(full) is full; keep the logs and send them again later"
            case .tooManyLogstores:
                "no room for one more logstore; see destinations.*.max_logstores"
            case .tooManyStreams:
                "the queue holds as many streams (sets of topic, source and tags) as queue.max_streams "
                    + "allows; keep the logs and send them again later"
            case .tooManyStreamsOfDestination:
                "\(full) has its share of the streams (sets of topic, source and tags) of "
                    + "queue.max_streams; keep the logs and send them again later"
            case .tooManyStreamsOfSender:
                "this device key has its share of the streams (sets of topic, source and tags) of "
                    + "queue.max_streams; keep the logs and send them again later"
            case .diskFull: "the disk is full; keep the logs and send them again later"
            case .failing: "the queue cannot be written; keep the logs and send them again later"
            case .stopping: "the gateway is stopping; keep the logs and send them again"
            }
        // Also for one logstore too many: another logstore may drain, and clients drop logs that
        // are answered with 404.
        self.init(503, "ServerBusy", reason)
    }

    init(_ error: InflateError) {
        switch error {
        case .tooLarge, .suspiciousRatio:
            self.init(413, "PostBodyTooLarge", error.description)
        case .corrupt, .sizeMismatch, .sizeMissing:
            self.init(400, "PostBodyUncompressError", error.description)
        // The logs are fine, and SDKs drop logs that are answered with 400.
        case .noMemory: self.init(503, "ServerBusy", error.description)
        }
    }

    package init(_ error: LogDecodingError) {
        let (status, code) =
            switch error.kind {
            case .unreadable: (400, "PostBodyInvalid")
            case .tooLarge: (413, "PostBodyTooLarge")
            case .notInflatable: (400, "PostBodyUncompressError")
            // The logs are fine, and clients drop logs that are answered with 400.
            case .noMemory: (503, "ServerBusy")
            }
        self.init(status, code, error.description, position: error.position)
    }

    /// The reason of the first unreadable text, which cannot become a dead letter.
    static func unreadable(_ logs: DecodedLogs) -> Refusal {
        for faulty in logs.faulty {
            guard case .unreadable(let position, let reason) = faulty.fault else { continue }
            return Refusal.badBody(
                "\(reason) (at byte \(position)); dead letters take an eighth of the queue already, so "
                    + "nothing of the body is stored",
                position: position
            )
        }
        return Refusal.badBody("the body cannot be read")
    }

    static func tooManyDoomed(_ count: Int, most: Int) -> Refusal {
        Refusal.tooLarge(
            "\(count) logs would become dead letters at once, at most \(most) may: send fewer, and look "
                + "at their times and sizes"
        )
    }

    /// A small compressed body may hold many empty logs, and each log costs a row and a place in a
    /// packet.
    static func tooManyLogs(_ count: Int, most: Int) -> Refusal {
        Refusal.tooLarge(
            "the body has \(count) logs; a body of its size may have \(most) (one per byte as sent, "
                + "at least 16384); send fewer logs per request, and none that are empty"
        )
    }

    static func tooManyStreams(most: Int) -> Refusal {
        Refusal.tooLarge(
            "the logs differ in topic, source or tags more than \(most) times; send smaller batches"
        )
    }

    static let bodyLost = Refusal(
        400,
        "PostBodyLost",
        "the body is empty, but the head describes content: the body was lost on the way, as when a "
            + "URLProtocol that intercepts requests drops httpBodyStream"
    )

    package static let unwantedBody = Refusal.badParameter(
        "this request takes no body; send it without one"
    )

    /// Fluent Bit's output `http` sends MessagePack in older versions unless a format is set.
    static func checkNotMessagePack(_ head: RequestHead) throws(Refusal) {
        // Most types are shorter than the shortest of those, and need no search.
        guard let type = head.fieldRange("content-type"),
            type.count >= "application/msgpack".utf8.count,
            head.field("content-type", begins: "application/"),
            head.field("content-type", contains: "msgpack")
        else { return }
        throw .badContentType("MessagePack is not accepted; send JSON, in Fluent Bit: Format json")
    }
}

// MARK: - Path, sender and budgets

extension Refusal {
    static func method(_ methods: DeviceMethods) -> Refusal {
        Refusal(405, "InvalidMethod", "this path answers to \(methods.names)")
    }

    static func noRight(to destination: String, _ label: DeviceLabel) -> Refusal {
        Refusal(
            label.isSLS ? 401 : 403,
            "Unauthorized",
            "this key may not send to destination \(clipped(destination)); see devices.keys"
        )
    }

    /// The code of a destination that a key has no right to.
    static func origin(_ origin: String, _ label: DeviceLabel) -> Refusal {
        Refusal(
            label.isSLS ? 401 : 403,
            "Unauthorized",
            "pages of \(clipped(origin)) may not send logs here; see devices.cors.origins, and origins of "
                + "devices.keys"
        )
    }

    /// SLS's SDKs keep logs that are refused for quota, and treat every 403 as that. They do not
    /// know 429, and the iOS SDK drops logs for it.
    static func overBudget(
        _ reason: String,
        _ label: DeviceLabel,
        after time: Duration
    ) -> Refusal {
        let (seconds, rest) = time.components
        let whole = max(1, Int(seconds) + (rest > 0 ? 1 : 0))
        return Refusal(
            label.isSLS ? 403 : 429,
            "WriteQuotaExceed",
            "\(reason); keep the logs and send them again in \(whole) s",
            retryAfter: whole
        )
    }
}

// MARK: - Room

extension Refusal {
    static let draining = Refusal.busy(
        "the gateway is being drained and accepts no logs; keep them and send them again"
    )

    static let tooMuchInFlight = Refusal.busy(
        "too many request bodies are in flight (limits.bodies_in_flight), in total or from one address; "
            + "send the logs again"
    )

    static let tooManyAnswers = Refusal.busy(
        "too many answers are unread (limits.answers_in_flight), in total or from one address; read them, "
            + "and send the logs again"
    )
}

// MARK: - Elasticsearch and Splunk

extension Refusal {
    /// For clients that call a tag an index.
    static let badIndex = Refusal(
        400,
        "IndexInvalid",
        "an index has 1 to 128 bytes of UTF-8 without control characters"
    )

    /// Clients send items with this status again, and other items only once.
    static let noRoom = Refusal(
        429,
        "ServerBusy",
        Refusal(QueueAdmission.tooManyLogstores).reason
    )

    /// Clients send again after 429, and only after 429.
    static let tooManyIndices = Refusal(
        429,
        "TooManyIndices",
        "the body names more than \(LogLimits().packages) indices; send these again by themselves"
    )

    static let writtenOnce = Refusal(
        400,
        "ActionUnsupported",
        "logs are written once: only index and create are taken"
    )

    static func answerTooLarge(of count: Int, most: Int) -> Refusal {
        Refusal(
            413,
            "AnswerTooLarge",
            "the answer to \(count) actions would exceed the \(sizeText(most)) of limits.answer; nothing was "
                + "stored, send fewer in a request"
        )
    }

    static let missingChannel = Refusal(
        400,
        "ChannelMissing",
        "a request about acknowledgements needs a channel: X-Splunk-Request-Channel, or channel in the query"
    )

    init(_ fault: SplunkFault) {
        guard fault.cause.kind != .noMemory else {
            self.init(fault.cause)
            return
        }
        let code =
            switch fault.kind {
            case .noData: "NoData"
            case .eventMissing: "EventMissing"
            case .eventBlank: "EventBlank"
            case .fields: "FieldsInvalid"
            case .tooMany: "PostBodyTooLarge"
            case .other: fault.cause.kind == .tooLarge ? "PostBodyTooLarge" : "PostBodyInvalid"
            }
        self.init(
            code == "PostBodyTooLarge" ? 413 : 400,
            code,
            fault.cause.description,
            position: fault.cause.position,
            item: fault.event
        )
    }
}
