import HTTP
import JSON

struct Answer: Sendable {
    enum Delivery: Sendable, Equatable {
        case now
        case after(Duration)
        /// Sent when the fault with this number is removed.
        case whenReleased(Int)
        /// Sent when enough logs match, or after this time with those that do.
        case whenStored(LogWait, within: Duration)
    }

    var response: Response
    var delivery = Delivery.now

    static func text(_ type: String, _ body: [UInt8], status: Int = 200) -> Answer {
        Answer(
            response: Response(
                status: status,
                fields: [
                    ("content-type", type), ("cache-control", "no-store"),
                    ("x-content-type-options", "nosniff"),
                ],
                body: body
            )
        )
    }

    static func json(_ members: (inout JSONWriter) -> Void) -> Answer {
        var json = JSONWriter()
        json.object(members)
        json.endLine()
        return .text("application/json", json.bytes)
    }
}

extension SLSRefusal {
    /// The body in a resolver's form: only Alibaba's has words. The message is the sandbox's own.
    func body(for resolver: ResolverService) -> [UInt8] {
        guard resolver == .alibaba else { return [] }
        return JSONWriter { json in
            json.member("code", code)
            json.member("message", message)
        }.bytes
    }

    var body: [UInt8] {
        JSONWriter { json in
            json.member("errorCode", code)
            json.member("errorMessage", message)
        }.bytes
    }
}
