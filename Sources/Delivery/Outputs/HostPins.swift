import HTTPClient
import Net
import Resolvers

/// The addresses of the hosts that a destination's requests go to. There are few: one an endpoint.
struct HostPins {
    private struct Pin {
        /// As in a URL, with the port if it has one.
        let authority: Substring
        let use: HostUse
        var reader: HostAddresses.Reader
        /// The last look found no address.
        var wasByName = false
    }

    private let names: NameService
    private let resolvers: [String]
    private var pins: [Pin] = []

    /// Resolvers are asked for the hosts of the URLs at once.
    init(_ names: NameService, _ resolvers: [String], ahead urls: [String]) {
        self.names = names
        self.resolvers = resolvers
        for url in urls { _ = place(of: url) }
    }

    /// Where a request goes. nil: its host has no addresses yet.
    enum Choice {
        case byName
        case to(HostAddresses.Target)
        case waiting
    }

    mutating func choice(for url: String) -> Choice {
        guard let place = place(of: url) else { return .byName }
        pins[place].wasByName = false
        switch pins[place].reader.view() {
        case .waiting: return .waiting
        case .byName:
            pins[place].wasByName = true
            return .byName
        case .known(let known): return .to(known.targets[0])
        }
    }

    /// Tells what became of a request's connection. Returns true if another address may do better.
    func note(_ outcome: TransferOutcome, of url: String) -> Bool {
        let route = outcome.route
        // Most requests use a connection that is there already.
        guard route.connectTime != nil || !route.isConnected,
            let address = route.target.flatMap({ IPAddress($0.address) }),
            let pin = pins.first(where: { Self.authority(of: url) == $0.authority })
        else { return false }
        switch outcome {
        case .answered: pin.use.addresses.connected(to: address, in: route.connectTime)
        case .failed(let failure):
            guard failure.isOfConnection else { return false }
            return pin.use.addresses.failed(to: address)
        }
        return false
    }

    /// True if a host has addresses now that had none at the last look.
    mutating func takeRecovery() -> Bool {
        var hasRecovered = false
        for place in pins.indices where pins[place].wasByName {
            guard case .known = pins[place].reader.view() else { continue }
            pins[place].wasByName = false
            hasRecovered = true
        }
        return hasRecovered
    }

    /// nil: the host is an address.
    private mutating func place(of url: String) -> Int? {
        let authority = Self.authority(of: url)
        if let place = pins.firstIndex(where: { $0.authority == authority }) { return place }
        let parts = authority.split(separator: ":", maxSplits: 1)
        guard let host = parts.first, HostName.isValid(host) else { return nil }
        let usual = url.hasPrefix("https:") ? 443 : 80
        let port = parts.count == 2 ? Int(parts[1]) ?? usual : usual
        let use = names.addresses(of: String(host), port: port, by: resolvers)
        pins.append(
            Pin(
                authority: authority,
                use: use,
                reader: HostAddresses.Reader(use.addresses)
            )
        )
        return pins.count - 1
    }

    private static func authority(of url: String) -> Substring {
        let bytes = url.utf8
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return "" }
        let start = bytes.index(colon, offsetBy: 3, limitedBy: bytes.endIndex) ?? bytes.endIndex
        let rest = bytes[start...]
        return url[start..<(rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex)]
    }
}

extension TransferFailure {
    /// The failure is of the connection, and another address may do better.
    fileprivate var isOfConnection: Bool {
        !isSent && !route.isConnected && Self.ofConnection.contains(code)
    }

    private static let ofConnection: Set<CurlCode> = [
        .couldNotConnect, .timedOut, .tlsConnectError, .peerNotVerified, .badIssuer, .gotNothing,
        .sendError, .receiveError,
    ]
}
