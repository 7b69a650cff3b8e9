import System

/// How long a source may take to answer.
package struct WebLimits: Sendable, Equatable {
    package var connect: Duration
    package var total: Duration

    package init(connect: Duration, total: Duration) {
        self.connect = connect
        self.total = total
    }

    package static let sts = WebLimits(connect: .seconds(5), total: .seconds(10))
    package static let metadata = WebLimits(connect: .seconds(1), total: .seconds(3))
}

/// A request to where credentials come from, or to whom is told of them.
struct WebRequest {
    var method = "GET"
    var url: String
    var headers: [String] = []
    var form: [(name: String, value: String)]?
    /// Instead of a form.
    var content: [UInt8]?
    /// Else an answer ends with its head: a server may send what it likes.
    var isBodyWanted = true
    /// A file with the authorities that are trusted in place of the system's.
    var authorities: String?
    var limits: WebLimits
}

struct WebAnswer {
    let status: Int
    /// The server's clock.
    let date: WallTime?
    let body: WipedBytes
}

/// Why there was no answer.
package enum WebFailure: Error, Equatable {
    case interrupted
    case tooLarge
    /// In curl's words, which repeat nothing of the request.
    case noAnswer(String)
}
