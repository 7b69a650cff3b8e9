import System

/// A message that a server has delivered.
package struct NATSMessage: Equatable, Sendable {
    package let subject: String
    package let reply: String?
    /// As received: a line with version and status, then the fields. Empty without headers.
    package let head: [UInt8]
    package let body: [UInt8]

    package init(subject: String, reply: String? = nil, head: [UInt8] = [], body: [UInt8]) {
        self.subject = subject
        self.reply = reply
        self.head = head
        self.body = body
    }

    /// What a message without content takes in memory.
    private static let ownBytes = 200

    /// What it takes in memory, roughly.
    var memory: Int {
        Self.ownBytes + subject.utf8.count + (reply?.utf8.count ?? 0) + head.count + body.count
    }

    /// The status of a server's own message, such as 503: nothing listens to the subject.
    package var status: Int? {
        statusLine.first.flatMap { Int($0) }
    }

    package var statusText: String {
        statusLine.dropFirst().joined(separator: " ")
    }

    package func header(_ name: String) -> String? {
        guard !head.isEmpty else { return nil }
        let lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n").dropFirst()
        for line in lines where line.hasPrefix("\(name):") {
            return String(line.dropFirst(name.count + 1).drop { $0 == " " })
        }
        return nil
    }

    private var statusLine: [Substring] {
        let line = head.prefix { $0 != UInt8(ascii: "\r") }
        let words = String(decoding: line, as: UTF8.self).split(separator: " ")
        return Array(words.dropFirst())
    }
}

/// A message to be sent, as bytes of the protocol.
package struct OutgoingMessage: Sendable {
    package let subject: String
    package let bytes: [UInt8]
    /// The head and the body.
    let payloadBytes: Int

    /// `reply` is where answers go. Header names and values must not hold line ends.
    package init(
        to subject: String,
        reply: String? = nil,
        headers: [(name: String, value: String)] = [],
        body: [UInt8] = []
    ) {
        var head = ""
        if !headers.isEmpty {
            head = "NATS/1.0\r\n"
            for (name, value) in headers { head += "\(name): \(value)\r\n" }
            head += "\r\n"
        }
        let reply = reply.map { " \($0)" } ?? ""
        let line =
            headers.isEmpty
            ? "PUB \(subject)\(reply) \(body.count)\r\n"
            : "HPUB \(subject)\(reply) \(head.utf8.count) \(head.utf8.count + body.count)\r\n"
        var bytes: [UInt8] = []
        bytes.reserveCapacity(line.utf8.count + head.utf8.count + body.count + 2)
        bytes += line.utf8
        bytes += head.utf8
        bytes += body
        bytes += "\r\n".utf8
        self.subject = subject
        self.bytes = bytes
        payloadBytes = head.utf8.count + body.count
    }
}

package struct NATSError: Error, Equatable, CustomStringConvertible {
    package enum Kind: Equatable, Sendable {
        /// There is no connection, or it was lost before the answer came.
        case disconnected
        /// The server refuses this client, or this client the server. It does not pass by itself.
        case refused
        case timeout
        /// Nothing listens to the subject at this moment, as while a stream has no leader.
        case noResponders
        /// The server did not keep to the protocol.
        case malformed
    }

    package let kind: Kind
    package let description: String

    package init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }

    package static func disconnected(_ text: String) -> Self { Self(.disconnected, text) }
    package static func refused(_ text: String) -> Self { Self(.refused, text) }
    package static func timeout(_ text: String) -> Self { Self(.timeout, text) }
    package static func noResponders(_ text: String) -> Self { Self(.noResponders, text) }
    package static func malformed(_ text: String) -> Self { Self(.malformed, text) }

    /// Converts the system's errors, which end the connection.
    static func onSystem<Value>(
        _ body: () throws(SystemError) -> Value
    ) throws(NATSError) -> Value {
        do throws(SystemError) {
            return try body()
        } catch {
            throw .disconnected("\(error)")
        }
    }
}
