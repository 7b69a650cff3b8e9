import Configuration
import HTTPClient
import Net
import Resolvers
import System

/// Carries requests through curl, on the delivery thread. Idle transfers are used again.
final class TransferPool: Carrier {
    /// A request whose host has no address yet.
    private struct Waiting {
        let request: TransferRequest
        let transfer: Transfer
        let whenDone: (Transfer, TransferOutcome) -> Void
    }

    private let names: NameService?
    private var settings: Destination
    /// nil: curl resolves the names, or a proxy does.
    private var pins: HostPins?
    private var idle: [Transfer] = []
    private var underWay: [ObjectIdentifier: Transfer] = [:]
    private var waiting: [Waiting] = []
    /// Work that ended without a transfer.
    private var over: [() -> Void] = []
    /// Older connections are not used; nil when all may be.
    private var connectionsSince: Moment?
    /// Counts the settings it has had. A transfer of older ones serves no other request.
    private var generation = 0

    init(_ settings: Destination, _ names: NameService?) {
        self.settings = settings
        self.names = names
        pins = Self.pins(settings, names)
    }

    private static func pins(_ settings: Destination, _ names: NameService?) -> HostPins? {
        let resolvers = settings.resolversAsked
        guard let names, !resolvers.isEmpty else { return nil }
        return HostPins(names, resolvers, ahead: settings.origins)
    }

    var isIdle: Bool { underWay.isEmpty }

    func begin(on loop: TransferLoop) {}

    func start(
        _ work: CarrierWork,
        on loop: TransferLoop,
        whenDone: @escaping (CarriedWork) -> Void
    ) -> Int {
        guard case .request(let request) = work else {
            preconditionFailure("this output's carrier is another one")
        }
        let transfer =
            idle.popLast() ?? Transfer(settings.options(connectionsSince: connectionsSince))
        underWay[ObjectIdentifier(transfer)] = transfer
        let bytes = request.bodyBytes
        start(request, by: transfer, on: loop) { [self, generation] transfer, outcome in
            ended(transfer, isReusable: generation == self.generation)
            whenDone(
                CarriedWork(
                    outcome: .request(outcome),
                    started: transfer.started,
                    bytes: bytes,
                    isTaken: transfer.body.isTaken,
                    isRepeated: transfer.body.isRepeated,
                    hasOtherAddress: pins?.note(outcome, of: request.url) ?? false
                )
            )
        }
        return bytes
    }

    private func start(
        _ request: TransferRequest,
        by transfer: Transfer,
        on loop: TransferLoop,
        whenDone: @escaping (Transfer, TransferOutcome) -> Void
    ) {
        var request = request
        switch pins?.choice(for: request.url) ?? .byName {
        case .byName: break
        case .to(let target): request.target = target.connect
        case .nowhere(let reason):
            // curl would ask the system again, which may hang for seconds.
            request.body = nil
            transfer.prepare(request)
            over.append { whenDone(transfer, .failed(.unresolved(reason))) }
            return
        case .waiting:
            let new = Waiting(request: request, transfer: transfer, whenDone: whenDone)
            waiting.append(new)
            return
        }
        transfer.prepare(request)
        loop.start(transfer, whenDone: whenDone)
    }

    func addressesChanged(on loop: TransferLoop) -> Bool {
        let ready = waiting
        waiting = []
        for work in ready {
            start(work.request, by: work.transfer, on: loop, whenDone: work.whenDone)
        }
        return pins?.takeRecovery() ?? false
    }

    /// `TransferLoop.perform` does it for transfers.
    func finishEnded() -> Int {
        let ended = over
        over = []
        for end in ended { end() }
        return ended.count
    }

    private func ended(_ transfer: Transfer, isReusable: Bool) {
        let known = underWay.removeValue(forKey: ObjectIdentifier(transfer))
        precondition(known != nil, "a transfer ends once")
        if isReusable { idle.append(transfer) }
    }

    /// New requests need new transfers, and new connections if routes or authorities changed.
    func use(_ settings: Destination, _ now: Moment) {
        generation += 1
        idle = []
        if settings.needsNewConnections(after: self.settings) { connectionsSince = now }
        self.settings = settings
        pins = Self.pins(settings, names)
    }

    /// Packets of abandoned requests were never acknowledged, so the queue still has them.
    func abandon(_ loop: TransferLoop) {
        for transfer in underWay.values where transfer.isRunning {
            transfer.leaveQuickly()
            loop.cancel(transfer)
        }
        (underWay, waiting, over) = ([:], [], [])
    }
}

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

extension TransferLoop {
    convenience init(forDelivery connections: Int) throws(DeliveryError) {
        do throws(CurlUnavailable) {
            try self.init(connections: connections)
        } catch {
            throw DeliveryError(description: error.description)
        }
    }
}

// How requests travel to the destination.
extension Destination {
    /// A connection must manage so much: eight requests on 1 Mbit/s have no more than this each.
    private static let slowestBytesPerSecond = 16 << 10

    /// How long a request may take. One without progress ends before, by the stall timeout.
    func timeLimit(bodyBytes: Int) -> Duration {
        transfer.transport.sendTimeout
            + .milliseconds(bodyBytes * 1000 / Self.slowestBytesPerSecond)
    }

    /// A proxy resolves by itself.
    var resolversAsked: ResolverRules {
        transfer.transport.proxy == nil ? transfer.transport.resolvers : []
    }

    /// Connections older than `connectionsSince` are not used.
    func options(connectionsSince: Moment? = nil) -> TransferOptions {
        let transport = transfer.transport
        var options = TransferOptions(connectTimeout: transport.connectTimeout)
        if let file = transport.certificateAuthorities { options.trust = .authorities(file: file) }
        options.proxy = transport.proxy
        options.clientCertificate = http.clientCertificate
        options.stallTimeout = transport.stallTimeout ?? transport.sendTimeout
        options.connectionsSince = connectionsSince
        return options
    }

    /// True when old connections must not be used: they may have taken another way, or trusted
    /// other authorities. A file of the same name may have another content.
    func needsNewConnections(after old: Destination) -> Bool {
        let (new, before) = (transfer.transport, old.transfer.transport)
        return new.certificateAuthorities != nil || before.certificateAuthorities != nil
            || http.clientCertificate != nil || old.http.clientCertificate != nil
            || new.proxy != before.proxy
    }
}
