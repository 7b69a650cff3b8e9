import Configuration
import Crypto
import HTTP
import Queue
import System
import TestConfiguration
import TestSupport
import Testing

@testable import Ingest

/// A reload between the head of a request and its body decides about the request.
@Suite(.timeLimit(.minutes(10))) struct AdmittedRequestTests {
    private let end: DeviceListener

    init() throws { end = try DeviceListener() }

    private static let key = "phone-0123456789abcdef"
    /// A worker thread takes bodies above a mebibyte. It has a handler of its own.
    private static let bodySizes = [20, 2 << 20]

    /// Sends a head, waits until it is admitted, reloads, and sends a body of so many bytes.
    private func answer(
        _ end: DeviceListener,
        bytes: Int,
        _ reload: () throws -> Void
    ) throws -> TestAnswer {
        let head =
            "POST /logs/x HTTP/1.1\r\nhost: a\r\nconnection: close\r\nx-sluice-key: \(Self.key)\r\n"
            + "expect: 100-continue\r\ncontent-length: \(bytes)\r\n\r\n"
        let connection = try end.client.opened(sending: head)
        #expect(connection.answer()?.status == 100)
        try reload()
        let text = #"{"a":"\#(String(repeating: "x", count: bytes - 8))"}"#
        #expect(text.utf8.count == bytes)
        connection.send(text)
        return try #require(connection.answer())
    }

    @Test("A key that is revoked before the body arrives is refused", arguments: bodySizes)
    func revokedKey(bytes: Int) throws {
        end.use([DeviceKey(name: "phone", secret: Secret(Self.key))])
        let answer = try answer(end, bytes: bytes) {
            end.use([DeviceKey(name: "phone", secret: Secret("another-0123456789abcdef"))])
        }
        #expect(answer.status == 401, "\(answer.text)")
        #expect(end.queue.stored.isEmpty)
        #expect(end.server.counters[.largeStarted] == (bytes > 1 << 20 ? 1 : 0))
    }

    @Test("A key that a reload keeps still counts", arguments: bodySizes)
    func keptKey(bytes: Int) throws {
        let phone = DeviceKey(name: "phone", secret: Secret(Self.key))
        end.use([phone])
        let answer = try answer(end, bytes: bytes) {
            end.use([DeviceKey(name: "web", secret: Secret("another-0123456789abcdef")), phone])
        }
        #expect(answer.status == 200, "\(answer.text)")
        #expect(end.shared.door.counts.map { $0.taken[.requests] } == [0, 1])
    }

    @Test("A route that changes before the body arrives is used", arguments: bodySizes)
    func newRoute(bytes: Int) throws {
        let answer = try answer(end, bytes: bytes) {
            let other = DeviceListener.twoDestinations.replacing("app-log", with: "new-log")
            let keys = [
                "ALIBABA_CLOUD_ACCESS_KEY_ID": "id", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "secret",
            ]
            end.shared.routes.replace(RoutingTable(try read(other, keys)))
        }
        #expect(answer.status == 200, "\(answer.text)")
        #expect(end.queue.stored.map(\.stream.logstore) == ["new-log"])
    }

    @Test("A dialect that is switched off before the body arrives is refused", arguments: bodySizes)
    func refusedDialect(bytes: Int) throws {
        let answer = try answer(end, bytes: bytes) {
            var devices = DeviceSettings()
            devices.accepted = [.sls]
            end.shared.door.replace(devices)
        }
        #expect(answer.status == 404, "\(answer.text)")
        #expect(end.queue.stored.isEmpty)
    }
}
