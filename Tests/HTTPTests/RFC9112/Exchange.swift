import Glibc
import TestSupport
import Testing

@testable import HTTP

/// What a client sends on one connection, and all that it may get for it.
///
/// A "|" stands for CRLF. An answer is its status and its text, that of HEAD its status and the
/// length that it tells: "200 /a 0", "HEAD 200 4".
struct Exchange: Sendable, CustomTestStringConvertible {
    enum Way: CaseIterable, Sendable {
        case inOneGo, byteByByte, encrypted
    }

    enum End: Sendable {
        /// The connection takes another request.
        case stays
        case ends
    }

    /// Begins with the section of RFC 9112 that asks for it.
    let name: String
    let sends: String
    let gets: [String]
    let end: End

    init(_ name: String, _ sends: String, _ gets: [String], _ end: End) {
        self.name = name
        self.sends = sends
        self.gets = gets
        self.end = end
    }

    /// A request that is refused, and with it whatever comes behind.
    init(_ name: String, _ sends: String, refused status: Int) {
        self.init(name, sends + Self.next, ["\(status)"], .ends)
    }

    var testDescription: String { name }

    /// A good request, and the answer to it.
    static let next = "GET /next HTTP/1.1|Host: a||"
    static let nextAnswer = "200 /next 0"

    /// A good request but for these fields.
    static func post(_ fields: String, _ body: String = "") -> String {
        "POST /a HTTP/1.1|Host: a|\(fields)||\(body)"
    }

    static func bytes(_ text: String) -> [UInt8] {
        text.utf8.flatMap { $0 == UInt8(ascii: "|") ? Array("\r\n".utf8) : [$0] }
    }

    private static let plain = Result { try TestServer() }
    private static let secure = Result { try TestServer.securely() }

    func run(_ way: Way) throws {
        let client =
            try way == .encrypted ? Self.secure.get().secureClient() : Self.plain.get().client()
        let bytes = Self.bytes(sends)
        if way == .byteByByte {
            client.sendAtOnce()
            for byte in bytes { client.send([byte]) }
        } else {
            client.send(bytes)
        }
        for wanted in gets { expect(wanted, client) }
        switch end {
        case .ends: #expect(client.isEnded(), "\(name): the connection goes on")
        case .stays:
            client.send(Self.bytes(Self.next))
            expect(Self.nextAnswer, client)
        }
    }

    private func expect(_ wanted: String, _ client: TestConnection) {
        let isHead = wanted.hasPrefix("HEAD ")
        guard let answer = client.answer(toHead: isHead) else {
            Issue.record("\(name): no answer where \(wanted) is due")
            return
        }
        let got =
            isHead
            ? "HEAD \(answer.status) \(answer["content-length"] ?? "?")"
            : answer.text.isEmpty ? "\(answer.status)" : "\(answer.status) \(answer.text)"
        // Refusals have a text of their own, which is not of the RFC.
        let isRefusal = wanted.utf8.count == 3 && wanted >= "400"
        #expect(isRefusal ? got.hasPrefix(wanted + " ") : got == wanted, "\(name)")
    }
}
