package import Crypto
import Glibc
package import Net
import SLS
import System

/// An admin listener's address, TLS and token, from a gateway's file, options and variables, or
/// from a URL.
package struct AdminAccess: Sendable {
    /// A numeric address, or the name that a URL gave.
    package let address: ListenAddress
    /// Nil when none was found: what is open to everybody answers all the same.
    package let token: Secret?
    /// Nil speaks plain HTTP.
    package let tls: AdminTLS?

    package init(address: ListenAddress, token: Secret?, tls: AdminTLS? = nil) {
        self.address = address
        self.token = token
        self.tls = tls
    }

    /// Reads only what concerns the admin listener; whatever else the file says may be wrong.
    package static func find(
        _ described: ConfigurationInputs
    ) throws(ConfigurationProblems) -> AdminAccess {
        var inputs = described
        inputs.readsCertificates = false
        let url = try AdminURL.take(from: &inputs)
        let report = ProblemReport(inputs)
        let document = report.document()
        guard report.problems.isEmpty else { throw report.sorted }
        var file = Section(document, path: "", report: report)
        let settings = AdminSettings.read(file.section("admin"))
        let directory = file.value("data_dir", .path, GatewayConfiguration.dataDirectorySource)
        guard report.problems.isEmpty else { throw report.sorted }
        // What the gateway of this machine made for itself is for nobody elsewhere.
        let isHere = url?.isHere ?? true
        let token = settings.token ?? (isHere ? keptToken(directory) : nil)
        if let url, url.isPlain, !isHere, token != nil { throw url.inTheOpen }
        return AdminAccess(
            address: url?.address ?? settings.listen.reachable,
            token: token,
            tls: url?.isPlain == true ? nil : AdminTLS(settings, isURL: url != nil)
        )
    }

    /// The token that the gateway made for itself, when the caller may read it.
    private static func keptToken(_ directory: String?) -> Secret? {
        let directories = directory.map { [$0] } ?? GatewayConfiguration.usualDataDirectories
        for directory in directories {
            guard let content = try? fileContent("\(directory)/admin-token", bytesMax: 4096) else {
                continue
            }
            let text = String(decoding: content, as: UTF8.self)
            if let word = text.split(whereSeparator: \.isWhitespace).first {
                return Secret(String(word))
            }
        }
        return nil
    }
}

/// `--admin-listen` for another machine: `https://gateway.example.com:8081`.
struct AdminURL: Equatable {
    /// The host may be a name.
    let address: ListenAddress
    let isPlain: Bool

    /// True if the listener is on this machine, so no other machine sees the token.
    var isHere: Bool { address.host == "localhost" || address.isLoopback }

    /// Why no token is sent there.
    var inTheOpen: ConfigurationProblems {
        let reason =
            "the token would travel to \(address) in the open; give the gateway a certificate (admin.tls) and "
            + "write https://, or come through a tunnel to 127.0.0.1"
        let place = ConfigurationProblem.Place.option(AdminSettings.listenSource.option ?? "")
        return ConfigurationProblems(
            problems: [.init(place: place, key: "admin.listen", text: reason)]
        )
    }

    /// Takes the URL out of option or variable; nil if they give an address to listen on.
    static func take(
        from inputs: inout ConfigurationInputs
    ) throws(ConfigurationProblems) -> AdminURL? {
        let source = AdminSettings.listenSource
        guard let (place, text) = inputs.override(source), text.contains("://") else { return nil }
        guard let url = AdminURL(text) else {
            let reason =
                "\(quoted(text)) is no admin listener; write it like https://gateway.example.com:8081 or "
                + "127.0.0.1:8081"
            throw ConfigurationProblems(
                problems: [.init(place: place, key: "admin.listen", text: reason)]
            )
        }
        if let option = source.option { inputs.options[option] = nil }
        if let variable = source.variable { inputs.environment[variable] = nil }
        return url
    }

    init?(_ text: String) {
        let parts = text.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, ["http", "https"].contains(parts[0]) else { return nil }
        isPlain = parts[0] == "http"
        let rest = parts[1].hasSuffix("/") ? parts[1].dropLast() : parts[1]
        if let numeric = try? ListenAddress(parsing: String(rest)), rest.first != ":" {
            address =
                rest.hasPrefix("localhost:")
                ? ListenAddress(host: "localhost", port: numeric.port) : numeric
            return
        }
        let pieces = rest.split(separator: ":", omittingEmptySubsequences: false)
        let name = pieces[0]
        guard (1...253).contains(name.utf8.count), name.isOfLetters(and: "-."), pieces.count <= 2
        else { return nil }
        if pieces.count == 1 {
            address = ListenAddress(host: String(name), port: isPlain ? 80 : 443)
        } else if let port = UInt16(pieces[1]), port > 0 {
            address = ListenAddress(host: String(name), port: port)
        } else {
            return nil
        }
    }
}

/// How a command speaks TLS with an admin listener.
package struct AdminTLS: Sendable, Equatable {
    /// What tells that the other end is the gateway.
    package enum Trust: Sendable, Equatable {
        /// A certificate of an authority that the system trusts, made for the name or address.
        case system
        /// The same, of an authority in the file.
        case authorities(file: String)
        /// The certificate in the file, with any names: its key is the gateway's own. So a command
        /// on the gateway's machine needs no name for 127.0.0.1.
        case certificate(file: String)
    }

    package var trust: Trust
    /// What is shown to a gateway that asks for it.
    package var certificate: TLSSettings.Certificate?

    package init(_ trust: Trust, certificate: TLSSettings.Certificate? = nil) {
        self.trust = trust
        self.certificate = certificate
    }

    /// nil: nothing asks for TLS. A URL may name another gateway, so its certificate is verified
    /// normally.
    init?(_ settings: AdminSettings, isURL: Bool) {
        let own = settings.tls?.certificates.first?.chainFile
        if let file = settings.client.authorities {
            trust = .authorities(file: file)
        } else if let own, !isURL {
            // Without a name the listener shows its first one.
            trust = .certificate(file: own)
        } else if isURL || settings.client.certificate != nil {
            trust = .system
        } else {
            return nil
        }
        certificate = settings.client.certificate
    }
}
