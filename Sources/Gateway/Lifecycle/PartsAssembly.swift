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

/// Makes the parts of a gateway. Names and credentials work at once; delivery waits for its start.
struct PartsAssembly {
    let configuration: GatewayConfiguration
    let store: any GatewayQueue
    /// The decisions that the queue remembers.
    let stored: [String: [UInt8]]
    let journal: Journal

    func parts(
        _ decisions: StoredDecisions,
        reading: @escaping ConfigurationReading,
        access: AdminTokens,
        certificates: CertificateReload
    ) throws -> GatewayParts {
        let (tail, workers) = (try Tail(), try OperatorWorkers())
        // Delivery learns from SLS how wrong the host's clock is; resolvers need the right time.
        let clock = NameClock()
        let names = try NameService(
            configuration.names,
            directory: configuration.dataDirectory,
            journal: journal,
            network: networkWatch,
            now: { clock.now }
        )
        // Sources of credentials ask it from their start.
        try names.start()
        let box = try configuration.encryptionKey.map { SecretBox(key: try SealingKey($0)) }
        let keeper = try keeper(names, box)
        let forwarder = try forwarder(keeper, names)
        clock.follow(forwarder.clockOffsets)
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
            devices: intake(tail, forwarder),
            webhook: Webhook(journal, addresses: names.lookup),
            access: access,
            certificates: certificates,
            workers: workers,
            journal: journal
        )
    }

    private var networkWatch: NetworkWatch? {
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

    private func keeper(_ names: NameService, _ box: SecretBox?) throws -> CredentialKeeper {
        var surroundings = SourceContext(environment: configuration.environment.variables)
        surroundings.addresses = names.lookup
        let keeper = try CredentialKeeper(surroundings)
        try keeper.replace(configuration.credentials)
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
        return keeper
    }

    private func forwarder(_ keeper: CredentialKeeper, _ names: NameService) throws -> Forwarder {
        do {
            let forwarder = try Forwarder(
                configuration.destinations,
                source: store,
                credentials: CredentialDoor(keeper),
                journal: journal,
                memoryMax: configuration.limits.deliveryBytes,
                userAgent: "sluice/\(Version.current)",
                names: names
            )
            keeper.tell(forwarder, journal)
            return forwarder
        } catch {
            // Its threads would outlive a failed start.
            keeper.stop()
            throw error
        }
    }

    /// The intake of logs, which follows their delivery.
    private func intake(_ tail: Tail, _ forwarder: Forwarder) -> DeviceHandler.Shared {
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
        return devices
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
