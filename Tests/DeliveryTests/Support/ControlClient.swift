import Net
import TestSupport

/// Talks to the sandbox's control API.
struct ControlClient {
    let port: Int

    /// The whole answer, head and body.
    func send(_ method: String, _ path: String, _ body: String = "") throws -> String {
        let request =
            "\(method) \(path) HTTP/1.1\r\nHost: sandbox\r\nConnection: close\r\n"
            + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        let connection = try TestConnection(port: UInt16(port))
        connection.send(request)
        return connection.rest()
    }
}
