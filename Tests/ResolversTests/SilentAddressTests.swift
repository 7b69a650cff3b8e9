import Glibc
import HTTP
import HTTPClient
import Net
import System
import TestHTTP
import TestSupport
import Testing

/// Names that curl resolves itself.
@Suite(.timeLimit(.minutes(10))) struct SilentAddressTests {
    @Test(
        "A host whose IPv4 address is silent is asked at its IPv6 address",
        .enabled(if: hasIPv6, "this machine has no IPv6")
    )
    func silent() throws {
        // A port that is free at 127.0.0.1, too.
        let address = ListenAddress(host: "::1", port: freePort())
        let server = try RecordingServer(on: address) { _, _ in Response(status: 200) }
        defer { server.stop() }
        let silent = try SilentListener(port: server.port)
        defer { silent.stop() }
        let answer = try WebClient(interruption: try Interruption()).get(
            "http://localhost:\(server.port)/",
            authorities: nil,
            limits: WebLimits(connect: .seconds(50), total: .seconds(50))
        )
        #expect(answer.status == 200)
    }

    private static let free = ListenAddress(host: "::1", port: 0)

    private static var hasIPv6: Bool {
        guard let server = try? RecordingServer(on: free, { _, _ in nil }) else { return false }
        server.stop()
        return true
    }
}

/// 127.0.0.1 with a port that takes no connection and refuses none: the only place for one that
/// waits to be accepted is taken, so the kernel ignores others.
private final class SilentListener {
    private var descriptors: [CInt] = []

    init(port: UInt16) throws(SystemError) {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let listener = open()
        guard call(bind, listener, address) == 0, listen(listener, 0) == 0 else {
            throw SystemError(call: "bind", code: errno)
        }
        for _ in 0..<3 { _ = call(connect, open(), address) }
    }

    func stop() {
        for descriptor in descriptors { close(descriptor) }
    }

    private func open() -> CInt {
        let type = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_INET, type, 0)
        descriptors.append(descriptor)
        return descriptor
    }

    private func call(
        _ function: (CInt, UnsafePointer<sockaddr>?, socklen_t) -> CInt,
        _ descriptor: CInt,
        _ address: sockaddr_in
    ) -> CInt {
        withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                function(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
