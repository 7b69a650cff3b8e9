import HTTP
import SLS
import System

/// All keys that devices may show. With none of them every device may send.
struct DeviceKeys: Sendable {
    /// In the order of the configuration.
    let senders: [DeviceSender]
    /// By the mark of the key. How long a look here takes tells something of a mark at most, and nobody outside can
    /// know the mark of a guess: it hangs on what is drawn anew for each table.
    private let places: [[UInt8]: Int]
    private let salt: [UInt8]

    /// Keys go on counting, and their budgets go on, where those of the same name `before` were.
    init(_ keys: [DeviceKey], after before: DeviceKeys? = nil, bodyBytesMax: Int) {
        let known = Dictionary(
            (before?.senders ?? []).map { ($0.name, $0.counter) },
            uniquingKeysWith: { first, _ in first }
        )
        senders = keys.map { key in
            DeviceSender(
                key.name,
                key.rules,
                known[key.name] ?? KeyCounter(),
                bodyBytesMax: bodyBytesMax
            )
        }
        let salt = randomBytes(32)
        self.salt = salt
        var places: [[UInt8]: Int] = [:]
        for (place, key) in keys.enumerated() {
            let mark = key.secret.withBytes { Self.mark(of: Array($0), salt) }
            places[mark] = place
        }
        self.places = places
    }

    var isOpen: Bool { senders.isEmpty }

    /// Who sends this; nil where everybody may.
    func sender(of head: RequestHead) throws(Refusal) -> DeviceSender? {
        guard !isOpen else { return nil }
        guard let shown = head.shownKey else { throw .missingKey }
        guard DeviceKey.secretBytes.contains(shown.count),
            let place = places[Self.mark(of: shown, salt)]
        else { throw .unknownKey }
        return senders[place]
    }

    private static func mark(of key: [UInt8], _ salt: [UInt8]) -> [UInt8] {
        Digest.hmacSHA256(key: salt, key)
    }
}

extension Refusal {
    static let missingKey = Refusal(
        401,
        "Unauthorized",
        "logs are taken from devices with a key only: send it as Authorization: Bearer KEY, "
            + "x-sluice-key: KEY, or ?key=KEY"
    )

    /// What was shown is not repeated: it may be a key of another place.
    static let unknownKey = Refusal(
        401,
        "Unauthorized",
        "the key that was sent is not one of those known here"
    )
}
