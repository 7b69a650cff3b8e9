package import Net
import System

extension GatewayConfiguration {
    /// How a listener speaks TLS, by the name it has in reports; nil speaks none.
    package func tls(of listener: String) -> TLSSettings? {
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
        if let listen = openToOthers, devices.keys.isEmpty, devices.tokens == nil {
            warnings.append(
                "the device listener \(listen) can be reached from other machines, and whoever reaches it may "
                    + "send logs; give devices keys (devices.keys), or listen on 127.0.0.1"
            )
        }
        return warnings
    }

    /// Where devices of other machines come in, and need no certificate for it.
    private var openToOthers: ListenAddress? {
        guard listen.isLoopback else { return listen }
        guard let tls, !tls.listen.isLoopback else { return nil }
        if case .required = tls.settings.clientCertificates { return nil }
        return tls.listen
    }

    /// What the files of certificates give reason for.
    func certificateWarnings(at now: WallTime) -> [String] {
        let certificates = [tls?.settings, admin.tls].compactMap { settings in
            settings.flatMap { try? TLSContext($0) }
        }
        return certificates.flatMap { $0.warnings(at: now) }
    }
}
