import Glibc

/// A port for a server that cannot be given a socket. It stays this process's own: it is outside
/// the range from which the kernel takes ports for connections and for port 0, and other tests
/// see the reservation, an abstract socket that ends with the process.
package func freePort() -> UInt16 {
    let first: UInt16 = 10_000
    for _ in 0..<1000 {
        let port = UInt16.random(in: first..<firstEphemeralPort)
        if let reservation = reservation(of: port) {
            if isFree(port) { return port }
            close(reservation)
        }
    }
    fatalError("no port of \(first) to \(firstEphemeralPort) is free")
}

private let firstEphemeralPort: UInt16 = {
    let range = String(decoding: readFile("/proc/sys/net/ipv4/ip_local_port_range"), as: UTF8.self)
    return range.split(whereSeparator: \.isWhitespace).first.flatMap { UInt16($0) } ?? 32_768
}()

/// The descriptor of its reservation; nil: another process or test has it.
/// Scripts/harness/queues.py uses the same names.
private func reservation(of port: UInt16) -> CInt? {
    let file = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let name = Array("\0sluice-test-port-\(port)".utf8)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
    guard bind(file, &address, size: 2 + name.count) else {
        close(file)
        return nil
    }
    return file
}

private func isFree(_ port: UInt16) -> Bool {
    let file = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
    defer { close(file) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    return bind(file, &address, size: MemoryLayout<sockaddr_in>.size)
}

private func bind<Address>(_ file: CInt, _ address: inout Address, size: Int) -> Bool {
    withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            Glibc.bind(file, $0, socklen_t(size)) == 0
        }
    }
}
