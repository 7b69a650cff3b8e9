import HTTP
import System

/// The sandbox's answer to a request, and when it is sent.
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

    static func json(_ text: JSONText, status: Int = 200) -> Answer {
        .text("application/json", text.bytes + Array("\n".utf8), status: status)
    }
}

extension SLSRefusal {
    /// The body in SLS's form.
    var body: [UInt8] {
        var text = JSONText()
        text.append("{\"errorCode\":")
        text.append(quoting: code)
        text.append(",\"errorMessage\":")
        text.append(quoting: message)
        text.append("}")
        return text.bytes
    }
}
