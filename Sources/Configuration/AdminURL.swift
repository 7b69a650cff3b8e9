import Net

/// An admin listener as `--admin-listen` names one that is not of this machine: `https://gateway.example.com:8081`.
struct AdminURL: Equatable {
    /// The host may be a name.
    let address: ListenAddress
    let isPlain: Bool

    /// Whether nobody on the way can listen.
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

    /// What option or variable say, if that is a URL; nothing of it is left to be read as an address to listen on.
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
        let isName =
            (1...253).contains(name.utf8.count)
            && name.allSatisfy {
                $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == ".")
            }
        guard isName, pieces.count <= 2 else { return nil }
        if pieces.count == 1 {
            address = ListenAddress(host: String(name), port: isPlain ? 80 : 443)
        } else if let port = UInt16(pieces[1]), port > 0 {
            address = ListenAddress(host: String(name), port: port)
        } else {
            return nil
        }
    }
}
