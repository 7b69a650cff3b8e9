import Configuration
import Crypto
import HTTP
import Net
import SLS
import System
import Tokens

/// All senders that are known. With none of them every device may send.
struct DeviceKeys: Sendable {
    /// In the order of the configuration, those of tokens last.
    let senders: [DeviceSender]
    let keys: [DeviceKey]
    let origins: OriginRules
    let accepted: AcceptedDialects
    let preflightHeaders: PreflightHeaders
    /// Nil where addresses may send what they like.
    let addressLimits: AddressLimits?
    let proxies: [AddressRange]
    /// By the mark of the key. How long a look here takes tells something of a mark at most, and nobody outside can
    /// know the mark of a guess: it hangs on what is drawn anew for each table.
    private let places: [[UInt8]: Int]
    private let salt: [UInt8]
    /// By the AccessKey id, which is no secret.
    let accessKeys: [[UInt8]: Int]
    let certificates: CertificateRules
    let names: [[UInt8]: Int]
    /// Nil where none are taken.
    let tokens: TokenMemory?
    let hmac: DeviceSettings.HMAC
    let nonces: NonceMemory
    /// So many keys share them.
    let hmacKeyCount: Int

    /// Keys go on counting, and their budgets go on, where those of the same name `before` were.
    init(
        _ settings: DeviceSettings,
        after before: DeviceKeys? = nil,
        bodyBytesMax: Int,
        nonces: NonceMemory,
        fetched: [FetchedTokenKeys] = []
    ) {
        let known = Dictionary(
            (before?.senders ?? []).map { ($0.name, $0.counter) },
            uniquingKeysWith: { first, _ in first }
        )
        senders = settings.senders.map { name, rules in
            DeviceSender(name, rules, known[name] ?? KeyCounter(), bodyBytesMax: bodyBytesMax)
        }
        let keys = settings.keys
        self.keys = keys
        origins = OriginRules(
            common: settings.origins,
            own: settings.senders.map { $0.rules.origins }
        )
        accepted = settings.accepted
        preflightHeaders = PreflightHeaders(settings.accepted, settings.corsHeaders)
        addressLimits = AddressLimits(settings.perAddress, bodyBytesMax: bodyBytesMax)
        proxies = settings.proxies.ranges
        let salt = randomBytes(32)
        self.salt = salt
        var (places, accessKeys): ([[UInt8]: Int], [[UInt8]: Int]) = ([:], [:])
        var names: [[UInt8]: Int] = [:]
        for (place, key) in keys.enumerated() {
            if let mark = key.secret?.withBytes({ Self.mark(of: Array($0), salt) }) {
                places[mark] = place
            }
            if let id = key.accessKeyID, key.accepts(.sls) { accessKeys[Array(id.utf8)] = place }
            names[Array(key.name.utf8)] = place
        }
        self.places = places
        self.accessKeys = accessKeys
        self.names = names
        certificates = CertificateRules(keys)
        tokens = settings.tokens.map { TokenMemory($0.rules, fetched: fetched) }
        hmac = settings.hmac
        self.nonces = nonces
        hmacKeyCount = keys.count { $0.secret != nil && $0.accepts(.hmac) }
    }

    var isOpen: Bool { senders.isEmpty }

    /// Which key this is; nil when it is none.
    func place(of key: [UInt8]) -> Int? {
        guard DeviceKey.secretBytes.contains(key.count) else { return nil }
        return places[Self.mark(of: key, salt)]
    }

    private static func mark(of key: [UInt8], _ salt: [UInt8]) -> [UInt8] {
        Digest.hmacSHA256(key: salt, key)
    }
}
