package import HTTP
import JSON
import System

/// A request that is not taken, in the words of both kinds of client.
package struct Refusal: Error, Equatable, Sendable {
    package let status: Int
    /// SLS's name for it, as in `PostBodyInvalid`.
    package let code: String
    /// One or two sentences for the developer of the client.
    package let reason: String
    /// The byte of the (inflated) body where reading stopped.
    package var position: Int?
    /// In how many seconds it may be sent again, where that is known.
    package var retryAfter: Int?
    /// Which of the request's logs is at fault, from zero.
    package var item: Int?

    package init(
        _ status: Int,
        _ code: String,
        _ reason: String,
        position: Int? = nil,
        retryAfter: Int? = nil
    ) {
        self.status = status
        self.code = code
        self.reason = reason
        self.position = position
        self.retryAfter = retryAfter
    }
}

/// How a kind of client reads an error.
enum ErrorShape {
    /// SLS's own JSON, at most 255 bytes: the iOS SDK copies the body into a buffer of 256.
    case sls
    /// Our own JSON, for `/logs` and whatever is no SLS path.
    case plain

    func response(_ refusal: Refusal) -> Response {
        switch self {
        case .sls:
            Response(
                status: refusal.status,
                contentType: "application/json",
                text: slsErrorBody(code: refusal.code, message: refusal.reason)
            )
        case .plain: HTTPProblem(refusal).response
        }
    }
}

extension HTTPProblem {
    package init(_ refusal: Refusal) {
        self.init(
            refusal.status,
            refusal.code,
            refusal.reason,
            position: refusal.position,
            retryAfter: refusal.retryAfter
        )
    }
}

/// `{"errorCode":"…","errorMessage":"…"}` in at most `bytesMax` bytes: the message is cut between
/// characters, and what is left is still JSON.
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
