import Configuration
import Credentials
import Crypto
import Delivery
import HTTPClient
import Ingest
import Net
import Operations
import Queue
import Resolvers
import SLS
import SQLiteQueue
import System

/// Delivery. Names and credentials work at once; the forwarder waits for its start.
struct DeliveryParts {
    private let store: any GatewayQueue
    private let names: NameService
    let keeper: CredentialKeeper
    private let box: SecretBox?
    private let forwarder: Forwarder
    private let journal: Journal

    /// `stored` are the decisions that the queue remembers.
    init(
        _ configuration: GatewayConfiguration,
        from store: any GatewayQueue,
        stored: [String: [UInt8]],
        _ journal: Journal
    ) throws(StartProblem) {
        (self.store, self.journal) = (store, journal)
        // Delivery learns from SLS how wrong the host's clock is; resolvers need the right time.
        let clock = NameClock()
        let names = try Gateway.start { () throws(CurlUnavailable) in
            try NameService(
                configuration.names,
                directory: configuration.dataDirectory,
                journal: journal,
                network: Self.networkWatch(journal),
                now: { clock.now }
            )
        }
        self.names = names
        // Sources of credentials ask it from their start.
        try Gateway.start { () throws(SystemError) in try names.start() }
        let (keeper, box) = try Self.keeper(configuration, stored, store, names, journal)
        (self.keeper, self.box) = (keeper, box)
        do throws(DeliveryError) {
            forwarder = try Forwarder(
                configuration.destinations,
                source: store,
                credentials: CredentialDoor(keeper),
                journal: journal,
                memoryMax: configuration.limits.deliveryBytes,
                userAgent: "sluice/\(Version.current)",
                names: names
            )
        } catch {
            keeper.stop()
            throw StartProblem(error.description)
        }
        clock.follow(forwarder.clockOffsets)
        keeper.tell(forwarder, journal)
    }

    /// All parts of the gateway, with the intake of logs, which follows their delivery.
    func parts(
        of configuration: GatewayConfiguration,
        _ decisions: StoredDecisions,
        _ reading: @escaping ConfigurationReading,
        access: AdminTokens,
        certificates: CertificateReload
    ) throws(StartProblem) -> GatewayParts {
        let tail = try Gateway.start { () throws(SystemError) in try Tail() }
        var devices = DeviceHandler.Shared(
            queue: store,
            routes: RoutingTable(configuration),
            devices: configuration.devices,
            limits: configuration.limits,
            recognizesRepeats: configuration.queueConfiguration.repeatsMax > 0
        )
        devices.tail = tail
        devices.clockOffset = { [offsets = forwarder.clockOffsets] in offsets.offset(for: $0) }
        forwarder.tellAttempts(to: devices.captures)
        store.tellEnds(to: devices.captures)
        return GatewayParts(
            configuration: Locked(configuration),
            decided: Locked(decisions),
            reading: reading,
            store: store,
            names: names,
            keeper: keeper,
            box: box,
            forwarder: forwarder,
            tail: tail,
            devices: devices,
            webhook: Webhook(journal, addresses: names.lookup),
            access: access,
            certificates: certificates,
            workers: try Gateway.start { () throws(SystemError) in try OperatorWorkers() },
            journal: journal
        )
    }

    private static func networkWatch(_ journal: Journal) -> NetworkWatch? {
        do throws(SystemError) {
            return try NetworkWatch()
        } catch {
            journal.warning(
                "changes of the network are not noticed; allow sockets of AF_NETLINK",
                ["reason": error.description]
            )
            return nil
        }
    }

    private static func keeper(
        _ configuration: GatewayConfiguration,
        _ stored: [String: [UInt8]],
        _ store: any GatewayQueue,
        _ names: NameService,
        _ journal: Journal
    ) throws(StartProblem) -> (CredentialKeeper, SecretBox?) {
        let box = try Gateway.start { () throws(SecretBoxProblem) in
            try configuration.encryptionKey.map { key throws(SecretBoxProblem) in
                SecretBox(key: try SealingKey(key))
            }
        }
        var surroundings = SourceContext(environment: configuration.environment.variables)
        surroundings.addresses = names.lookup
        let keeper = try Gateway.start { [surroundings] () throws(SystemError) in
            try CredentialKeeper(surroundings)
        }
        try Gateway.start { () throws(KeeperProblem) in
            try keeper.replace(configuration.credentials)
        }
        // Other gateways use what this one takes for expired, perhaps because of its clock.
        let useless = keeper.takeStored(
            from: stored,
            box,
            keepsExpired: store.decisions.areDecisionsShared,
            journal
        )
        if !useless.isEmpty {
            let names = useless.compactMap(StoredCredential.name(ofSetting:)).sorted()
            // If it cannot be stored now, the next start tries again.
            _ = store.decisions.store(Decision(resets: useless, .expired(names)))
        }
        return (keeper, box)
    }
}

/// The host's clock, corrected by what SLS has told about it.
final class NameClock: Sendable {
    private let offsets = Locked<ClockOffsets?>(nil)

    func follow(_ offsets: ClockOffsets) {
        self.offsets.withLock { $0 = offsets }
    }

    var now: WallTime { .now + (offsets.withLock { $0 }?.largest ?? .zero) }
}
