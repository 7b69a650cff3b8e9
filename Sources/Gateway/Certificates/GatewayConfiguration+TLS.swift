import Net
import System

extension GatewayConfiguration {
    /// How a listener speaks TLS, by the name it has in reports; nil speaks none.
    func tls(of listener: String) -> TLSSettings? {
        switch listener {
        case "admin": admin.tls
        case DeviceTLS.listener: tls?.settings
        default: nil
        }
    }

    /// What an operator should know of listeners, though all of it can be served.
    var listenerWarnings: [String] {
        var warnings: [String] = []
        if !admin.listen.isLoopback, admin.tls == nil {
            warnings.append(
                "the admin listener \(admin.listen) can be reached from other machines, and tokens travel "
                    + "there in the open; give it a certificate (admin.tls), or listen on 127.0.0.1"
            )
        }
        return warnings
    }

    /// As above, with what is read from the files.
    func warnings(at now: WallTime) -> [String] {
        let certificates = [tls?.settings, admin.tls].compactMap { settings in
            settings.flatMap { try? TLSContext($0) }
        }
        return listenerWarnings + certificates.flatMap { $0.warnings(at: now) }
    }
}
