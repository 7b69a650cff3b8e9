import Crypto
import JSON
package import System

/// An answer to a request, reduced to the parts that SLS gives a meaning.
package struct SLSAnswer: Sendable, Equatable {
    package let status: Int
    /// 24 upper-case hexadecimal digits. An answer without it comes from a proxy or a captive
    /// portal, not from SLS.
    package private(set) var requestID: String?
    /// The server's clock; only from an answer of SLS.
    package let serverTime: WallTime?
    /// The pause that SLS asks for (`Retry-After`): above zero and at most an hour. Only from an
    /// answer of SLS, so that a captive portal cannot close a destination.
    package let retryAfter: Duration?
    package private(set) var errorCode: String?
    /// Uncut, until `redacted(for:)` bounds it.
    package private(set) var errorMessage: String?

    /// True if the logs are stored. A 200 without SLS's request id proves nothing.
    package var isStored: Bool { status == 200 && requestID != nil }

    /// Header names may have any case; the first kilobytes of the body suffice.
    package init(status: Int, headers: [(name: String, value: String)], body: [UInt8]) {
        func value(_ name: String) -> String? {
            headers.last { $0.name.lowercased() == name }.map(\.value)
        }
        self.status = status
        requestID = value("x-log-requestid").flatMap(Self.identifier)
        serverTime = requestID == nil ? nil : Self.time(value("x-log-time"), date: value("date"))
        retryAfter =
            requestID == nil ? nil : Self.wait(value("retry-after"), serverTime: serverTime)
        let error = status == 200 ? nil : ErrorBody(parsing: body)
        errorCode = error?.code
        // An empty message must not replace the known meaning of the code.
        errorMessage = error.flatMap { $0.message.isEmpty ? nil : $0.message }
    }

    /// Without what the answer repeats of the credential that signed the request.
    package func redacted(for credential: Credential) -> SLSAnswer {
        // Nearly all answers say that logs are stored, with an id of digits and no more.
        let isHexadecimal = requestID?.utf8.allSatisfy { hexValue($0) != nil } ?? true
        guard !isHexadecimal || errorCode != nil || errorMessage != nil else { return self }
        let mask = EchoMask(credential.secrets)
        let shown = { (text: String) in
            mask.blotted(text, bytesMax: Credential.redactedBytesMax)
        }
        var answer = self
        answer.requestID = requestID.map(shown)
        answer.errorCode = errorCode.map(shown)
        answer.errorMessage = errorMessage.map(shown)
        return answer
    }

    private static func identifier(_ text: String) -> String? {
        let isPlausible =
            (1...64).contains(text.utf8.count) && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f }
        return isPlausible ? text : nil
    }

    /// The bounds in which SLS's own SDKs believe a server's clock.
    private static let plausibleSeconds: ClosedRange<Int64> = 1_500_000_001...4_294_967_293

    private static let retryAfterMax: Duration = .seconds(3600)

    /// Seconds, or a date (RFC 9110 section 10.2.3). A date is compared with the server's time in
    /// the same answer, because this host's clock may be wrong. Without the server's time a date is
    /// ignored.
    package static func wait(_ text: String?, serverTime: WallTime?) -> Duration? {
        guard let text else { return nil }
        let seconds: Int64
        if let number = Int64(text), text.utf8.allSatisfy({ $0 != UInt8(ascii: "+") }) {
            seconds = number
        } else if let date = WallTime(httpDate: text), let serverTime {
            seconds = date.seconds - serverTime.seconds
        } else {
            return nil
        }
        return seconds > 0 ? min(.seconds(seconds), retryAfterMax) : nil
    }

    private static func time(_ seconds: String?, date: String?) -> WallTime? {
        let candidates = [
            seconds.flatMap { Int64($0) }, date.flatMap(WallTime.init(httpDate:))?.seconds,
        ]
        return candidates.compactMap { $0 }.first(where: plausibleSeconds.contains)
            .map(WallTime.init(seconds:))
    }
}

/// `{"errorCode":"...","errorMessage":"..."}`, the body of SLS's error answers.
///
/// The syntax is checked strictly, but other members may hold anything. A body that is no such
/// object, such as a proxy's page, gives nil.
struct ErrorBody: Equatable {
    let code: String
    /// Uncut: a cut could leave half a secret, which redaction would not recognise.
    let message: String

    init?(parsing body: [UInt8]) {
        var reader = JSONReader(body)
        var code: String?
        var message: String?
        let isObject = reader.members { name, reader in
            switch name {
            case "errorCode": code = reader.string()
            case "errorMessage": message = reader.string()
            default: return reader.skipValue()
            }
            return name == "errorCode" ? code != nil : message != nil
        }
        guard isObject, let code, reader.isAtEnd, Self.isCode(code) else { return nil }
        self.code = code
        self.message = TerminalText.line(message ?? "")
    }

    /// Codes become metric labels, so they must look like identifiers.
    private static func isCode(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.unicodeScalars.allSatisfy { scalar in
                scalar.isASCII
                    && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil)
                    || scalar == "." || scalar == "_" || scalar == "-"
            }
    }
}
