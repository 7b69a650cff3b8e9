package import System

/// What came back for a request, as far as SLS says something with it.
package struct SLSAnswer: Sendable, Equatable {
    package let status: Int
    /// 24 upper hexadecimal digits. Without it somebody else answered: a proxy, a captive portal.
    package let requestID: String?
    /// The server's clock, from an answer of SLS only.
    package let serverTime: WallTime?
    /// How long SLS wants to be left alone (`Retry-After`): more than nothing, and an hour at most.
    /// From an answer of SLS only, so that no captive portal closes a destination.
    package let retryAfter: Duration?
    package let errorCode: String?
    /// As long as it came: redact the credential, which also bounds it, before showing it.
    package let errorMessage: String?

    /// Whether the logs are stored. A 200 from anybody but SLS says nothing.
    package var isStored: Bool { status == 200 && requestID != nil }

    /// Header names may be in any case; of the body the first kilobytes are enough.
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
        // Words that are none would stand in the way of what is known of the code.
        errorMessage = error.flatMap { $0.message.isEmpty ? nil : $0.message }
    }

    private static func identifier(_ text: String) -> String? {
        let isPlausible =
            (1...64).contains(text.utf8.count) && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f }
        return isPlausible ? text : nil
    }

    /// The bounds that SLS's own SDKs believe, whoever tells the time.
    private static let plausibleSeconds: ClosedRange<Int64> = 1_500_000_001...4_294_967_293

    private static let retryAfterMax: Duration = .seconds(3600)

    /// Seconds, or a date (RFC 9110 section 10.2.3). A date counts from the server's time in the same
    /// answer: the clock of this host may be off. Without that time it says nothing.
    private static func wait(_ text: String?, serverTime: WallTime?) -> Duration? {
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
