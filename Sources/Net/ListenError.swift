package import System

/// Why a server cannot listen, and the remedy.
package enum ListenError: Error, Equatable, CustomStringConvertible {
    case taken(ListenAddress)
    case notPermitted(ListenAddress)
    case noSuchAddress(ListenAddress)
    case noIPv6(ListenAddress)
    case system(ListenAddress, SystemError)

    /// The kernel has no IPv6, or no IPv6 address to bind; sandboxes and containers have either
    /// problem.
    var saysNoIPv6: Bool {
        switch self {
        case .noIPv6, .noSuchAddress: true
        case .taken, .notPermitted, .system: false
        }
    }

    package var description: String {
        switch self {
        case .taken(let address):
            "cannot listen on \(address): the port is taken;"
                + " stop the process that holds it (ss -ltnp) or listen on another port"
        case .notPermitted(let address):
            "cannot listen on \(address): not permitted;"
                + " use a port above 1023 or grant the capability CAP_NET_BIND_SERVICE"
        case .noSuchAddress(let address):
            "cannot listen on \(address): this machine has no such address;"
                + " use one of its own (ip addr), 0.0.0.0 or [::]"
        case .noIPv6(let address):
            "cannot listen on \(address): this kernel has no IPv6;"
                + " listen on :\(address.port), which means all existing addresses, or on 0.0.0.0"
        case .system(let address, let error):
            "cannot listen on \(address): \(error)"
        }
    }
}
