package import HTTPClient
package import Net
package import System

/// Turns hosts into addresses, with the configuration's resolvers and one cache for all that send.
///
/// A sender asks once for a host's addresses and reads them with each request. Everything else
/// happens on a thread of its own: a sender never waits for a resolver.
package final class NameService: Sendable {
    private struct Known {
        struct Entry {
            let addresses: HostAddresses
            var users = 0
        }

        struct Key: Hashable {
            let host: HostEntry.Key
            let port: Int
        }

        var hosts: [Key: Entry] = [:]
        var hostsMax: Int
        var refused = 0
    }

    private struct Listener: Sendable {
        let changed: @Sendable (HostAddresses) -> Void
    }

    private let listener = Locked<Listener?>(nil)
    private let known: Locked<Known>
    private let worker = Locked<Worker?>(nil)
    private let lookups = LookupUses()
    private let parts: NameLoop.Parts
    private let settings: NameSettings

    /// Connections that all queries and races may have together.
    private static let connectionsMax = 64

    /// `directory` keeps the last answers; without one nothing is kept. `now` is the right time, as
    /// far as it is known.
    package init(
        _ settings: NameSettings,
        directory: String?,
        journal: Journal,
        network: NetworkWatch? = nil,
        now: @escaping @Sendable () -> WallTime = { .now }
    ) throws(CurlUnavailable) {
        let loop = try TransferLoop(connections: Self.connectionsMax)
        self.settings = settings
        known = Locked(Known(hostsMax: settings.maxHosts))
        parts = NameLoop.Parts(
            loop: loop,
            mailbox: Mailbox { loop.wake() },
            file: directory.map { NameFile(path: "\($0)/names") },
            journal: journal,
            now: now,
            network: network
        )
    }

    private var mailbox: Mailbox<NameLoop.Message> { parts.mailbox }

    deinit { stop() }

    /// Starts the thread. Call it once.
    package func start() throws(SystemError) {
        let worker = try Worker("names") { [settings, parts] in NameLoop(settings, parts).run() }
        self.worker.withLock { $0 = worker }
    }

    /// Ends the thread and keeps the last answers on disk.
    package func stop() {
        defer { mailbox.close() }
        guard let worker = worker.withLock({ $0.take() }) else { return }
        mailbox.post(.stop)
        worker.join()
    }

    /// `resolvers` are asked in order, then the system. A host beyond the cache's bound is
    /// connected to by its name.
    package func addresses(of host: String, port: Int, by rules: ResolverRules) -> HostUse {
        let name = HostName.canonical(host)
        let resolvers = rules.resolvers(of: name)
        let host = HostEntry.Key(host: name, resolvers: resolvers)
        let key = Known.Key(host: host, port: port)
        let (addresses, isNew) = known.withLock { known -> (HostAddresses, Bool?) in
            let entry = known.hosts[key]
            let addresses =
                entry?.addresses
                ?? HostAddresses(host.host, port: port, resolvers, signals)
            guard entry != nil || known.hosts.count < known.hostsMax else {
                known.refused += 1
                addresses.showName()
                return (addresses, nil)
            }
            known.hosts[key, default: Known.Entry(addresses: addresses)].users += 1
            return (addresses, entry == nil)
        }
        // Nothing to release, or the place of a later caller with this key would be released.
        guard let isNew else { return HostUse(addresses) {} }
        if isNew { mailbox.post(.added(addresses)) }
        return HostUse(addresses) { [weak self] in self?.released(key) }
    }

    private var signals: HostAddresses.Signals {
        let (mailbox, listener) = (mailbox, listener)
        return HostAddresses.Signals(
            wanted: { mailbox.post(.wanted($0, $1)) },
            changed: { addresses in listener.withLock { $0 }?.changed(addresses) }
        )
    }

    /// Calls back, on any thread, when addresses have changed. The callback must not wait.
    package func listen(_ changed: @escaping @Sendable (HostAddresses) -> Void) {
        listener.withLock { $0 = Listener(changed: changed) }
    }

    private func released(_ key: Known.Key) {
        let unused = known.withLock { known -> HostAddresses? in
            guard var entry = known.hosts[key] else { return nil }
            entry.users -= 1
            known.hosts[key] = entry.users > 0 ? entry : nil
            return entry.users > 0 ? nil : entry.addresses
        }
        if let unused { mailbox.post(.removed(unused)) }
    }

    /// Uses other resolvers and bounds from now on.
    package func use(_ settings: NameSettings) {
        known.withLock { $0.hostsMax = settings.maxHosts }
        // The configuration may not have them any more.
        lookups.removeAll()
        mailbox.post(.use(settings))
    }

    /// Asks again for one host, or for all.
    package func refresh(_ host: String? = nil) {
        mailbox.post(.refresh(host.map(HostName.canonical)))
    }

    /// Asks resolvers beside the cache: one, or those of the configuration and the system. `trust`
    /// checks the host's certificates; without it the connections have no TLS.
    package func inquire(
        _ host: String,
        port: Int,
        with resolver: String?,
        trust: TransferOptions.Trust? = .system,
        whenDone: @escaping @Sendable ([InquiryAnswer]) -> Void
    ) {
        let question = NameLoop.Question(
            host: HostName.canonical(host),
            port: port,
            resolver: resolver,
            trust: trust,
            whenDone: whenDone
        )
        mailbox.post(.inquire(question))
    }

    package var status: NameReport {
        var report = parts.report.withLock { $0 }
        report.refusedHosts = known.withLock { $0.refused }
        return report
    }
}

/// A sender's hold on the addresses of a host. They are kept while somebody holds them.
package final class HostUse: Sendable {
    package let addresses: HostAddresses
    private let release: @Sendable () -> Void

    fileprivate init(_ addresses: HostAddresses, release: @escaping @Sendable () -> Void) {
        self.addresses = addresses
        self.release = release
    }

    deinit { release() }
}

extension NameService {
    /// For callers with a thread of their own: they wait for the first answer, within bounds.
    package var lookup: AddressLookup {
        AddressLookup { [weak self] host, port, resolvers in
            guard let self, HostName.isValid(host) else { return nil }
            let use = lookups.use(of: "\(host):\(port) \(resolvers)") {
                self.addresses(of: host, port: port, by: resolvers)
            }
            guard case .known(let known) = use.addresses.view(atMost: Self.lookupPatience) else {
                return nil
            }
            return FoundAddress(known.targets[0].connect) { _ = use.addresses.note($0) }
        }
    }

    private static let lookupPatience: Duration = .seconds(3)
}

/// Keeps looked up hosts in the cache from one request to the next.
private final class LookupUses: Sendable {
    /// The configuration has few.
    private static let usesMax = 64

    private let uses = Locked<[String: HostUse]>([:])

    func use(of key: String, _ make: () -> HostUse) -> HostUse {
        uses.withLock { uses in
            if let use = uses[key] { return use }
            if uses.count >= Self.usesMax { uses = [:] }
            let use = make()
            uses[key] = use
            return use
        }
    }

    func removeAll() { uses.withLock { $0 = [:] } }
}
