package import Net

/// An HTTP client with a connection for each request. For several requests on one connection use
/// `TestConnection`.
package struct TestClient {
    package let address: ListenAddress
    /// The client's own address on this machine.
    package var source = "127.0.0.1"
    /// Nil speaks plain HTTP.
    package var tls: ClientTLS.Options?

    package init(address: ListenAddress) { self.address = address }

    package func get(
        _ path: String,
        _ fields: KeyValuePairs<String, String> = [:]
    ) throws -> TestAnswer {
        try send("GET", path, [], fields)
    }

    package func post(
        _ path: String,
        _ body: some Collection<UInt8>,
        _ fields: KeyValuePairs<String, String> = [:]
    ) throws -> TestAnswer {
        try send("POST", path, Array(body), fields)
    }

    package func send(
        _ method: String,
        _ path: String,
        _ body: [UInt8] = [],
        _ fields: KeyValuePairs<String, String> = [:]
    ) throws -> TestAnswer {
        var head = "\(method) \(path) HTTP/1.1\r\nconnection: close\r\n"
        if !fields.contains(where: { $0.key == "host" }) { head += "host: gateway.test\r\n" }
        if !fields.contains(where: { $0.key == "content-length" }),
            method == "POST" || !body.isEmpty
        {
            head += "content-length: \(body.count)\r\n"
        }
        for (name, value) in fields { head += "\(name): \(value)\r\n" }
        return try exchange(Array((head + "\r\n").utf8) + body)
    }

    /// Sends bytes as they are and reads until the server closes: one answer.
    package func exchange(_ request: [UInt8]) throws -> TestAnswer {
        try TestAnswer(whole: converse(request))
    }

    /// As `exchange`, for any number of answers.
    package func converse(_ request: [UInt8]) throws -> [UInt8] {
        let connection = try opened()
        connection.send(request)
        return connection.readToEnd()
    }

    /// A connection on which a text was sent.
    package func opened(sending text: String = "") throws -> TestConnection {
        let connection = try TestConnection(to: address, from: source)
        if let tls { try connection.secure(tls) }
        if !text.isEmpty { connection.send(text) }
        return connection
    }
}
