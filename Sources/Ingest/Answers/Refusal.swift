package import HTTP
import JSON
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

    /// A request that the server refused before it called the handler.
    init(_ problem: RequestProblem) {
        self.problem = HTTPProblem(problem)
    }

    package var status: Int { problem.status }
    package var code: String { problem.code }
    package var reason: String { problem.message }
}

/// The form of an error.
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
