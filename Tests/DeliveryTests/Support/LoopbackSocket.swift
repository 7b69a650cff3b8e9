import Glibc
import System

/// Plain TCP on this machine, for servers that a test writes itself.
enum LoopbackSocket {
    static func listening(port: Int = 0) throws -> (descriptor: CInt, port: Int) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var yes: CInt = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, 4)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        var port = port
        let result = withAddress(port: port) { address in
            guard bind(descriptor, address, length) == 0, listen(descriptor, 64) == 0 else {
                return -1 as CInt
            }
            let result = getsockname(descriptor, address, &length)
            port = address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                Int(in_port_t(bigEndian: $0.pointee.sin_port))
            }
            return result
        }
        guard result == 0 else { throw SystemError(call: "listen", code: errno) }
        return (descriptor, port)
    }

    static func connected(to port: Int) -> CInt? {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        let length = socklen_t(MemoryLayout<sockaddr_in>.size)
        if withAddress(port: port, { connect(descriptor, $0, length) }) == 0 { return descriptor }
        close(descriptor)
        return nil
    }

    /// Exactly so many bytes; nil when the other side ends before.
    static func receive(_ count: Int, from descriptor: CInt) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        let received = recv(descriptor, &bytes, count, Int32(MSG_WAITALL))
        return received == count ? bytes : nil
    }

    @discardableResult
    static func send(_ bytes: some Collection<UInt8>, to descriptor: CInt) -> Bool {
        let all = Array(bytes)
        var sent = 0
        while sent < all.count {
            let count = all[sent...].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    private static func withAddress(
        port: Int,
        _ body: (UnsafeMutablePointer<sockaddr>) -> CInt
    ) -> CInt {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        return withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1, body)
        }
    }
}
