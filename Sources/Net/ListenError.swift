package import System

/// Why a server cannot listen, and what its operator can do about it.
package enum ListenError: Error, Equatable, CustomStringConvertible {
    case taken(ListenAddress)
    case notPermitted(ListenAddress)
    case noSuchAddress(ListenAddress)
    case system(ListenAddress, SystemError)

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
        case .system(let address, let error):
            "cannot listen on \(address): \(error)"
        }
    }
}
