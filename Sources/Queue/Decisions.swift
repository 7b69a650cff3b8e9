package import System

/// Keeps the operators' decisions of the running gateway. Answers come on the queue's thread.
package protocol Decisions: Sendable {
    /// Stores the decision in the next commit. Answers with a refusal if that is not possible.
    func decide(
        _ decision: Decision,
        whenDurable: @escaping @Sendable (DecisionRefusal?) -> Void
    )

    /// Answers with all decided settings, or with the error that prevents reading them.
    func recall(_ answer: @escaping @Sendable (Result<[String: [UInt8]], QueueError>) -> Void)

    /// Tells of other gateways' decisions, with which `recall` then answers. Must be quick.
    func followDecisions(_ receiver: @escaping @Sendable () -> Void)

    /// True if other gateways see the decisions, and other servers have them.
    var areDecisionsShared: Bool { get }

    /// Answers with the newest entries of the audit log first, with an `id` only those before it.
    func audit(
        before id: Int64?,
        limit: Int,
        _ answer: @escaping @Sendable (Result<[AuditRecord], QueueError>) -> Void
    )
}

/// Why a decision was not stored.
package enum DecisionRefusal: Equatable, Sendable {
    /// The decision would add a setting beyond `settingsMax`.
    case tooManySettings
    /// A setting of the decision is larger than `valueBytesMax`.
    case tooLarge
    /// Too many decisions wait to be stored already.
    case busy
    /// The store cannot be written now.
    case queue(QueueAdmission)
}

/// An operator's change while the gateway runs: settings to keep over restarts, and the line for
/// the audit log. One transaction stores both, or neither is stored.
package struct Decision: Sendable {
    package var settings: [String: [UInt8]]
    /// Settings that go back to the values of the configuration.
    package var resets: Set<String>
    package var entry: AuditEntry

    package init(
        _ settings: [String: [UInt8]] = [:],
        resets: Set<String> = [],
        _ entry: AuditEntry
    ) {
        self.settings = settings
        self.resets = resets
        self.entry = entry
    }

    package static let settingsMax = 1000
    package static let nameBytesMax = 256
    package static let valueBytesMax = 64 << 10

    /// True if names and values keep the bounds above.
    package var isReasonable: Bool {
        settings.allSatisfy { name, value in
            name.utf8.count <= Self.nameBytesMax && value.count <= Self.valueBytesMax
        }
    }
}

/// An operator's change: actor, address, action. It never holds a secret, only a fingerprint of it.
package struct AuditEntry: Sendable, Equatable {
    /// The name of the token that was shown.
    package var actor: String
    package var address: String
    /// A verb and its object, such as "rotate" and "credential default".
    package var action: String
    package var subject: String
    package var before: String
    package var after: String

    package init(
        actor: String,
        address: String,
        action: String,
        subject: String,
        before: String = "",
        after: String = ""
    ) {
        self.actor = actor
        self.address = address
        self.action = action
        self.subject = subject
        self.before = before
        self.after = after
    }

    /// What may be done without the right to change anything.
    package static let looks = ["export capture", "log in", "log out"]
    package var isLook: Bool { Self.looks.contains(action) }

    /// Longer texts are cut off.
    package static let textBytesMax = 4096
}

/// An entry as it was stored.
package struct AuditRecord: Sendable, Equatable {
    package let id: Int64
    package let time: WallTime
    package let entry: AuditEntry
    /// The gateway of a cluster that took the decision; nil: this one.
    package let node: String?

    package init(id: Int64, time: WallTime, entry: AuditEntry, node: String? = nil) {
        self.id = id
        self.time = time
        self.entry = entry
        self.node = node
    }
}
