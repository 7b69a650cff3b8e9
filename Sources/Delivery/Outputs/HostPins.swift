import HTTPClient
import Net
import Resolvers
import System

/// The addresses of the hosts that a destination's requests go to. There are few: one an endpoint.
struct HostPins {
    private struct Pin {
        /// As in a URL, with the port if it has one.
        let authority: Substring
        let use: HostUse
        var reader: HostAddresses.Reader
        /// Requests failed because the host had no address, or because none of these worked.
        var failed: Set<IPAddress>?
    }

    private let names: NameService
    private let resolvers: ResolverRules
    private var pins: [Pin] = []

    /// Resolvers are asked for the hosts of the URLs at once.
    init(_ names: NameService, _ resolvers: ResolverRules, ahead urls: [String]) {
        self.names = names
        self.resolvers = resolvers
        for url in urls { _ = place(of: url) }
    }

    /// Where a request goes.
    enum Choice {
        case byName
        /// Nobody knows an address of the host.
        case nowhere(String)
        case to(HostAddresses.Target)
        case waiting
    }

    mutating func choice(for url: String) -> Choice {
        guard let place = place(of: url) else { return .byName }
        switch pins[place].reader.view() {
        case .waiting: return .waiting
        case .byName: return .byName
        case .unknown:
            pins[place].failed = []
            let addresses = pins[place].use.addresses
            let others = addresses.resolvers.filter { $0 != NameSettings.system }
            let names = (others + [NameSettings.system]).joined(separator: ", ")
            return .nowhere("no address of \(addresses.host) from \(names)")
        case .known(let known): return .to(known.targets[0])
        }
    }

    /// Tells what became of a request's connection. Returns true if another address may do better.
    mutating func note(_ outcome: TransferOutcome, of url: String) -> Bool {
        guard outcome.route.triedToConnect,
            let place = pins.firstIndex(where: { Self.authority(of: url) == $0.authority })
        else { return false }
        switch pins[place].use.addresses.note(outcome) {
        case .nothing: return false
        case .works: pins[place].failed = nil
        case .fails(_, hasAnother: true): return true
        case .fails(let address, hasAnother: false):
            pins[place].failed = (pins[place].failed ?? []).union([address])
        }
        return false
    }

    /// True if a host that had no address, or none that worked, has another one now.
    mutating func takeRecovery() -> Bool {
        var hasRecovered = false
        for place in pins.indices {
            guard let failed = pins[place].failed,
                case .known(let known) = pins[place].reader.view(),
                !failed.contains(known.targets[0].address)
            else { continue }
            pins[place].failed = nil
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
