import CSystem
import Glibc
package import System

/// The listening sockets that a service manager opened before it started the process
/// (systemd.socket(5)). It holds them across a restart, so clients that connect meanwhile wait in
/// their backlog and are not refused.
package struct PassedListeners: Sendable {
    package static let none = PassedListeners([])

    private let listeners: [Listener]

    init(_ listeners: [Listener]) {
        self.listeners = listeners
    }

    /// Takes those that LISTEN_PID and LISTEN_FDS announce for this process. Call it once, before
    /// anything else opens descriptors.
    package init(
        _ environment: [String: String],
        from firstNumber: CInt = 3
    ) throws(StartProblem) {
        guard let count = environment["LISTEN_FDS"], environment["LISTEN_PID"] == "\(getpid())"
        else {
            self = .none
            return
        }
        guard let count = CInt(count), (0...Self.countMax).contains(count) else {
            throw StartProblem(
                "LISTEN_FDS: \(count) sockets were passed; at most \(Self.countMax) are possible"
            )
        }
        var listeners: [Listener] = []
        for number in firstNumber..<firstNumber + count {
            do throws(SystemError) {
                listeners.append(try Listener(passed: number))
            } catch {
                throw StartProblem(
                    "passed socket \(number) is no listening TCP socket (\(error));"
                        + " sluice.socket may have ListenStream= with ports only"
                )
            }
        }
        self.listeners = listeners
    }

    private static let countMax: CInt = 16

    /// The one that listens on the address.
    package func listener(on address: ListenAddress) -> Listener? {
        listeners.first { $0.address.isSame(as: address) }
    }

    /// Each must belong to an address of the configuration, and no two to the same: on another one
    /// clients would wait without end.
    package func check(against configured: [(key: String, address: ListenAddress)])
        throws(StartProblem)
    {
        let strange = listeners.first { listener in
            !configured.contains { listener.address.isSame(as: $0.address) }
        }
        for (key, address) in configured {
            let count = listeners.count { $0.address.isSame(as: address) }
            guard count <= 1 else {
                throw StartProblem(
                    "the service manager passed \(count) sockets for \(key): \(address), and only one can"
                        + " be served; keep one ListenStream= for it (systemctl cat sluice.socket)"
                )
            }
        }
        guard let strange else { return }
        let known = configured.map { "\($0.key): \($0.address)" }.joined(separator: ", ")
        throw StartProblem(
            "the service manager passed a socket on \(strange.address), which is none of \(known);"
                + " set ListenStream= (systemctl edit sluice.socket) to the same address"
        )
    }
}

extension ListenAddress {
    /// True if both mean one socket: without IPv6, "everywhere" is 0.0.0.0.
    fileprivate func isSame(as other: ListenAddress) -> Bool {
        guard port == other.port else { return false }
        return IPAddress(host) == IPAddress(other.host)
            || (other.isEverywhere && host == other.withoutIPv6.host)
    }
}
