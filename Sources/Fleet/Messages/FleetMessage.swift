import Crypto
import Queue
import System

/// A message between gateways. One of another version is ignored.
struct FleetMessage: Equatable {
    enum Content: Equatable {
        /// Requests that the sender has stored, and the last entries of its shards.
        case repeats([BatchIdentity], entries: [String: UInt64] = [:], sentAt: WallTime)
        /// With the challenge of the recipient, which `here` has told.
        case question(UInt64, challenge: UInt64, [UInt8])
        case answer(UInt64, [UInt8])
        /// Who is there? Answered at once.
        case call(UInt64)
        case here(UInt64, challenge: UInt64)
        /// The question is not answered: the gateway begins, or has too many.
        case busy(UInt64)
    }

    private enum Kind: UInt8 {
        case repeats = 1
        case question, answer, call, here, busy
    }

    private static let version: UInt8 = 2
    /// More are sent in several messages.
    static let repeatsMax = 2000
    /// More than a gateway has shards.
    static let entriesMax = 64

    /// The life of a gateway that sent it, as `NodeRegister` names it.
    let life: String
    let node: String
    let content: Content

    var bytes: [UInt8] {
        var bytes = [Self.version]
        func append(_ value: UInt64, _ count: Int) {
            for index in (0..<count).reversed() {
                bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(index * 8)))
            }
        }
        func append(_ text: some Collection<UInt8>) {
            append(UInt64(text.count), 1)
            bytes += text
        }
        func begin(_ kind: Kind, _ id: UInt64? = nil) {
            bytes.append(kind.rawValue)
            append(Array(life.utf8.prefix(255)))
            append(Array(node.utf8.prefix(255)))
            if let id { append(id, 8) }
        }
        switch content {
        case .repeats(let repeats, let entries, let time):
            begin(.repeats)
            append(UInt64(bitPattern: time.nanoseconds), 8)
            append(UInt64(repeats.count), 2)
            for one in repeats {
                append(one.digest)
                append(one.receipt)
                append(UInt64(one.logs), 4)
            }
            // Older gateways do not read on.
            append(UInt64(entries.count), 2)
            for (shard, entry) in entries.sorted(by: { $0.key < $1.key }) {
                append(Array(shard.utf8.prefix(255)))
                append(entry, 8)
            }
        case .question(let id, let challenge, let body):
            begin(.question, id)
            append(challenge, 8)
            bytes += body
        case .answer(let id, let body):
            begin(.answer, id)
            bytes += body
        case .call(let id): begin(.call, id)
        case .here(let id, let challenge):
            begin(.here, id)
            append(challenge, 8)
        case .busy(let id): begin(.busy, id)
        }
        return bytes
    }

    /// It is about who is there, and nothing else.
    var isCall: Bool {
        switch content {
        case .call, .here: true
        case .repeats, .question, .answer, .busy: false
        }
    }

    init(life: String, node: String, _ content: Content) {
        self.life = life
        self.node = node
        self.content = content
    }

    /// nil: it is none of this version.
    init?(_ bytes: [UInt8]) {
        var rest = bytes[...]
        func number(_ count: Int) -> UInt64? {
            guard rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count).reduce(0) { $0 << 8 | UInt64($1) }
        }
        func text() -> [UInt8]? {
            guard let count = number(1).map(Int.init), rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return Array(rest.prefix(count))
        }
        guard number(1) == UInt64(Self.version), let code = number(1),
            let kind = Kind(rawValue: UInt8(code)), let life = text(), let node = text()
        else { return nil }
        self.life = String(decoding: life, as: UTF8.self)
        self.node = String(decoding: node, as: UTF8.self)
        switch kind {
        case .repeats:
            guard let time = number(8), let count = number(2), count <= Self.repeatsMax else {
                return nil
            }
            var repeats: [BatchIdentity] = []
            for _ in 0..<count {
                guard let digest = text(), let receipt = text(), let logs = number(4),
                    // It goes into a header of an answer.
                    receipt.allSatisfy({ (0x21...0x7E).contains($0) })
                else { return nil }
                repeats.append(BatchIdentity(digest: digest, receipt: receipt, logs: Int(logs)))
            }
            var entries: [String: UInt64] = [:]
            if !rest.isEmpty {
                guard let count = number(2), count <= Self.entriesMax else { return nil }
                for _ in 0..<count {
                    guard let shard = text(), let entry = number(8) else { return nil }
                    entries[String(decoding: shard, as: UTF8.self)] = entry
                }
            }
            let sent = WallTime(nanoseconds: Int64(bitPattern: time))
            content = .repeats(repeats, entries: entries, sentAt: sent)
        case .question, .here:
            guard let id = number(8), let challenge = number(8) else { return nil }
            content =
                kind == .here
                ? .here(id, challenge: challenge)
                : .question(id, challenge: challenge, Array(rest))
        case .answer, .call, .busy:
            guard let id = number(8) else { return nil }
            switch kind {
            case .answer: content = .answer(id, Array(rest))
            case .call: content = .call(id)
            default: content = .busy(id)
            }
        }
    }
}

/// Seals messages between gateways. An engine may let others send and read them: any role of a
/// PostgreSQL server may. So the key lies in a register, which needs rights.
///
/// Two clusters of one name share registers. Both understand a call, to report it; all else needs
/// the same `credentials.encryption_key` (passphrases are not compared).
struct MessageSeal: Equatable, Sendable {
    static let register = "message-key"

    private static let callBit: UInt8 = 1
    private static let toAllBit: UInt8 = 2

    /// What the register has.
    let clusterKey: [UInt8]
    private let ownKey: [UInt8]

    static func newKey() -> [UInt8] { randomBytes(AESGCM.keyBytes) }

    /// nil: the register holds no key.
    init?(_ key: [UInt8], keyFingerprint: String?) {
        guard key.count == AESGCM.keyBytes else { return nil }
        clusterKey = key
        ownKey = Digest.sha256(key + Array((keyFingerprint ?? "").utf8))
    }

    private func key(_ isCall: Bool) -> [UInt8] { isCall ? clusterKey : ownKey }

    /// Binds the recipient: no other gateway, nor the sender, can open the message.
    private static func associated(_ head: UInt8, _ recipient: String?) -> [UInt8] {
        [head] + Array("sluice \(recipient ?? "")".utf8)
    }

    /// `recipient` is a node; nil: all gateways.
    func seal(_ message: FleetMessage, to recipient: String?) -> [UInt8] {
        let head: UInt8 =
            (message.isCall ? Self.callBit : 0) | (recipient == nil ? Self.toAllBit : 0)
        let nonce = randomBytes(AESGCM.nonceBytes)
        let associated = Self.associated(head, recipient)
        let sealed = key(message.isCall).withUnsafeBytes {
            AESGCM.seal(message.bytes, key: $0, nonce: nonce, associated: associated)
        }
        return [head] + nonce + sealed
    }

    /// nil: the sender does not know the key, has another encryption key, or means another node.
    func open(_ bytes: [UInt8], at node: String) -> FleetMessage? {
        let bodyStart = 1 + AESGCM.nonceBytes
        guard bytes.count > bodyStart, bytes[0] <= Self.callBit | Self.toAllBit else { return nil }
        let isCall = bytes[0] & Self.callBit != 0
        let isToAll = bytes[0] & Self.toAllBit != 0
        let associated = Self.associated(bytes[0], isToAll ? nil : node)
        let plain = key(isCall).withUnsafeBytes {
            AESGCM.open(
                bytes[bodyStart...],
                key: $0,
                nonce: Array(bytes[1..<bodyStart]),
                associated: associated
            )
        }
        guard let message = plain.flatMap(FleetMessage.init), message.isCall == isCall else {
            return nil
        }
        // Only news of stored requests may be addressed to all.
        if case .repeats = message.content { return message }
        return isToAll ? nil : message
    }
}
