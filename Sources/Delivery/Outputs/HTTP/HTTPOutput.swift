import Configuration
import Crypto
import HTTPClient
import Logs
import Queue
import SLS
import System

/// Posts packets as JSON to an HTTP server, and judges its answers.
struct HTTPOutput: Output {
    let settings: Destination
    private let url: Secret
    /// Sent with every request.
    private let commonHeaders: [String]
    /// Sent only with a body.
    private let bodyHeaders: [String]
    private let judge: HTTPJudge

    init(_ settings: Destination, userAgent: String) {
        let target = settings.http
        self.settings = settings
        url = target.webAddress.url
        var headers = target.headers.map { "\($0.name): \($0.value.revealed)" }
        if !target.headers.contains(where: { $0.name == "user-agent" }) {
            headers.append("User-Agent: \(userAgent)")
        }
        commonHeaders = headers
        headers = [
            target.body == .array
                ? "Content-Type: application/json" : "Content-Type: application/x-ndjson"
        ]
        if settings.bodyCompression != .none {
            headers.append("Content-Encoding: \(settings.bodyCompression.rawValue)")
        }
        bodyHeaders = headers
        judge = HTTPJudge(target)
    }

    func bodyBytesMax(of lease: Lease) -> Int { jsonBytes(of: lease.packet) }

    var encodesSlowly: Bool { true }

    /// Always the same: the server knows a repetition by its Idempotency-Key.
    func body(of packet: SealedPacket, _ blocks: [StoredBlock]) throws(Unsendable) -> PacketBody {
        let text = try json(of: packet, blocks, as: settings.shape, settings.http.body)
        return PacketBody(pieces: [compressed(text)[...]], rawBytes: text.count)
    }

    func work(
        for packet: SealedPacket,
        _ body: PacketBody,
        to endpoint: EndpointKey,
        by credential: Credential?,
        at time: WallTime
    ) -> CarrierWork {
        var request = TransferRequest(url.revealed, keeping: .httpAnswer)
        request.method = "POST"
        request.headers = bodyHeaders + commonHeaders + ["Idempotency-Key: \(packet.packID)"]
        request.body = .pieces(body.pieces)
        request.timeLimit = settings.timeLimit(bodyBytes: request.bodyBytes)
        return .request(request)
    }

    /// A request without logs, for `HTTPInspection`.
    func test() -> TransferRequest {
        var request = TransferRequest(url.revealed, keeping: .httpAnswer)
        request.method = "HEAD"
        request.headers = commonHeaders
        return request
    }

    private func compressed(_ text: [UInt8]) -> [UInt8] {
        switch settings.bodyCompression {
        case .gzip: Gzip.compress(text)
        case .zstd: Zstd.compress(text)
        case .none: text
        case .lz4, .deflate: preconditionFailure("checked when it was read")
        }
    }

    func judge(
        _ outcome: CarrierOutcome,
        of attempt: Attempt,
        by credential: Credential?
    ) -> Judgement {
        switch outcome {
        case .request(.answered(let response)): judge.judge(response)
        case .request(.failed(let failure)):
            judge.judge(TransportProblem(failure), isTaken: attempt.isBodyTaken)
        case .lines: preconditionFailure("this output's carrier is another one")
        }
    }
}

extension ResponseUse {
    static var httpAnswer: ResponseUse {
        ResponseUse(
            headers: ["date", "location", "retry-after", "x-request-id"],
            body: .first(HTTPJudge.bodyBytesKept, max: 1 << 20)
        )
    }
}

/// Decides what becomes of a packet. Servers differ, so only the status counts.
struct HTTPJudge {
    private let successes: Set<Int>
    /// A server may echo the request in its answer, whose text is shown to operators.
    private let mask: EchoMask

    private static let messageBytesMax = 512
    /// What is read of an answer's body.
    static let bodyBytesKept = 4 << 10

    init(_ target: HTTPTarget) {
        successes = Set(target.successes)
        mask = EchoMask(texts: Self.secrets(of: target))
    }

    /// The url and the headers, and the parts of them that a server may repeat alone.
    private static func secrets(of target: HTTPTarget) -> [String] {
        let url = target.webAddress.url.revealed
        // The place leaves out the usual port, which the URL may name.
        let start = url.firstRange(of: "://")?.upperBound ?? url.startIndex
        let path = url[start...].drop { !"/?#".contains($0) }
        let parameters = path.drop { $0 != "?" }.split(separator: "&")
            .map { $0.drop { $0 != "=" }.dropFirst() }
        // Webhooks have a token in their path.
        var parts = path.prefix { $0 != "?" }.split(separator: "/").filter(isTelling)
        parts += parameters.filter { !isWord($0) }
        for header in target.headers {
            let value = header.value.revealed
            parts.append(value[...])
            guard !harmless.contains(header.name.lowercased()) else { continue }
            let words = value.split { " ,;=".contains($0) }.prefix(wordsMax)
            parts += words.dropLast().filter(isTelling) + words.suffix(1).filter { !isWord($0) }
            // "Token token=…" and "id=7, key=…"
            parts += value.split { " ,;".contains($0) }.prefix(wordsMax)
                .map { $0.drop { $0 != "=" }.dropFirst() }.filter { !isWord($0) }
        }
        let decoded = parts.compactMap { percentDecodedText(Array($0.utf8)[...]) }
        let basic = parts.compactMap { base64Decoded(Array($0.utf8)[...], .standard) }
            .map { String(decoding: $0, as: UTF8.self) }.filter { $0.contains(":") }
        let passwords = basic.map { String($0.drop { $0 != ":" }.dropFirst()) }
        return [url, String(path)] + parts.map(String.init) + decoded + basic + passwords
    }

    /// Fields whose words are no secrets.
    private static let harmless: Set = [
        "accept", "accept-encoding", "accept-language", "content-type", "user-agent",
    ]
    private static let wordsMax = 16

    /// True for a word of a language, as "json" and "true", which other text has, too.
    private static func isWord(_ text: Substring) -> Bool {
        text.utf8.count < 8 && text.allSatisfy { $0.isLowercase }
    }

    /// True for what hardly has another meaning than that of a secret.
    private static func isTelling(_ text: Substring) -> Bool {
        let isMixed =
            text.contains(where: \.isNumber)
            || text.contains(where: \.isUppercase)
                && text.contains(where: \.isLowercase)
        return text.utf8.count >= (isMixed ? 8 : 20)
    }

    func judge(_ response: TransferResponse) -> Judgement {
        let status = response.head.status
        let isSuccess =
            successes.isEmpty ? (200...299).contains(status) : successes.contains(status)
        let (rule, remedy) =
            isSuccess
            ? (Self.stored, "none needed")
            : Self.rule(for: status)
                ?? (Self.unknown, "check url: this is no answer of an HTTP server to a POST")
        var judgement = Judgement(
            action: rule.action,
            kind: rule.kind,
            result: rule.result,
            status: status,
            code: isSuccess ? nil : "HTTP\(status)",
            message: isSuccess ? "stored" : message(response),
            requestID: response.head["x-request-id"].map(redacted),
            remedy: remedy,
            retryAfter: isSuccess
                ? nil
                : SLSAnswer.wait(
                    response.head["retry-after"],
                    serverTime: response.head["date"].flatMap(WallTime.init(httpDate:))
                ),
            isOutcomeUnknown: !isSuccess && (status < 300 || status == 408 || status >= 500),
            traits: .answered,
            countedAs: isSuccess ? "OK" : (100...599).contains(status) ? "\(status)" : "other"
        )
        if status == 413 { judgement.traits.insert(.ofSize) }
        if (300...399).contains(status), let place = location(response.head) {
            judgement.remedy += "; it leads to \(place)"
        }
        return judgement
    }

    /// `isTaken` tells whether curl took something of the body, so that it may have arrived.
    func judge(_ problem: TransportProblem, isTaken: Bool) -> Judgement {
        Judgement(problem, message: redacted(problem.message), isTaken: isTaken)
    }

    // MARK: - The answer's words

    /// What the server says, in one line.
    private func message(_ response: TransferResponse) -> String {
        let text = String(decoding: response.body, as: UTF8.self)
        let words = text.unicodeScalars.split { $0.value <= 0x20 || $0.value == 0x7f }
        let said = words.map { String($0) }.joined(separator: " ")
        guard !said.isEmpty else { return "HTTP status \(response.head.status)" }
        let isCut = response.body.count >= HTTPJudge.bodyBytesKept
        return mask.blotted(said, bytesMax: Self.messageBytesMax, isCut: isCut)
    }

    private func redacted(_ text: String) -> String {
        mask.blotted(text, bytesMax: Self.messageBytesMax)
    }

    /// Scheme, host and port: the rest may hold a token.
    private func location(_ head: TransferResponse.Head) -> String? {
        guard let url = head["location"], let mark = url.firstRange(of: "://") else {
            return nil
        }
        let end = url[mark.upperBound...].firstIndex { "/?#\\".contains($0) } ?? url.endIndex
        return (try? Endpoint(parsing: String(url[..<end])))?.description
    }

    // MARK: - The table

    private static let stored = Rule(.acknowledge, .other, .ok)
    private static let unknown = Rule(.again(.endpoint), .other, .sendDiscardError)
    private static let refused = Rule(.pause(.project), .request, .sendDiscardError)

    private static func rule(for status: Int) -> (rule: Rule, remedy: String)? {
        rows.first { $0.statuses.contains { $0.contains(status) } }.map { ($0.rule, $0.remedy) }
    }

    /// The first that fits counts.
    private static let rows: [(statuses: [ClosedRange<Int>], rule: Rule, remedy: String)] = [
        (
            [200...299], refused,
            "add the status to success if it says that the logs are stored; otherwise check url"
        ),
        ([300...399], refused, "set url to where the redirection leads; Sluice follows none"),
        (
            [401...401], .unauthorized, "check the headers that prove who sends, as authorization"
        ),
        (
            [403...403], .unauthorized,
            "check the headers that prove who sends, and what they may do there"
        ),
        (
            [404...404, 410...410], Rule(.pause(.project), .notFound, .sendUnauthorized),
            "check url"
        ),
        ([408...408, 425...425, 500...599], .server, "none needed unless it lasts"),
        ([413...413], .content, "lower packet.bytes or packet.logs of the destination"),
        ([429...429], .quota, "none needed unless it lasts"),
        (
            [400...400, 422...422], .content,
            "look for what the server does not like about the log; body and shape choose the form"
        ),
        ([400...499], refused, "check url, body and compress against what the server takes"),
    ]
}

extension HTTPTarget {
    var webAddress: WebAddress {
        guard let address else { preconditionFailure("checked when it was read") }
        return address
    }
}
