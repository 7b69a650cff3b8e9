package import System

/// Why a packet was not stored, with what an operator needs to end it.
package struct DeliveryFailure: Sendable, Equatable {
    /// The class of failure, as metrics count it.
    package enum Kind: String, Sendable, CaseIterable {
        /// No answer: name, connection, TLS, timeout. The packet may be stored or not.
        case network
        /// An answer that is not from SLS.
        case notSLS = "not_sls"
        case server
        case quota
        case unauthorized
        case notFound = "not_found"
        case suspended
        case clock
        /// A log in it, or its size.
        case content
        /// A sequence number that SLS has seen already.
        case sequence
        /// The request's form.
        case request
        /// The file or the standard output takes nothing.
        case write
        case other
        /// The queue could not give the packet's content.
        case queue
    }

    package let kind: Kind
    /// The name that SLS's SDKs have for it.
    package let result: ProducerResult
    package let logstore: String
    package let status: Int?
    /// SLS's error code, or the transport's.
    package let code: String?
    package let message: String
    package let requestID: String?
    package let remedy: String
    package let at: WallTime
}

extension DeliveryFailure {
    /// The queue could not read a packet.
    init(unread message: String, _ logstore: String, at time: WallTime) {
        self.init(
            kind: .queue,
            result: .persistentError,
            logstore: logstore,
            status: nil,
            code: nil,
            message: message,
            requestID: nil,
            remedy: "check the disk that holds the queue",
            at: time
        )
    }

    /// "403 WriteQuotaExceed: Project write quota exceed: qps"
    package var summary: String {
        let start = [status.map { "\($0)" }, code].compactMap(\.self).joined(separator: " ")
        return start.isEmpty ? message : "\(start): \(message)"
    }

    /// For a host's clock so wrong that SLS refuses its logs. `offset` is SLS's clock minus the
    /// host's.
    static func remedy(forClock offset: Duration) -> String {
        let seconds = offset.components.seconds
        return
            "the clock of this host is \(seconds.magnitude) s \(seconds < 0 ? "ahead" : "behind"): "
            + "set it (NTP); until then no log is given up for its time"
    }
}

/// How far a failure reaches, and whose gate it moves.
package enum GateScope: String, Sendable, CaseIterable {
    /// An endpoint, shared by the destinations that have it.
    case endpoint
    /// What a project's quota lets through, shared by the destinations that write to the project.
    case quota
    /// A destination.
    case project
    /// One logstore of a destination.
    case logstore

    /// True when the other scope lies within this one.
    func holds(_ other: GateScope) -> Bool {
        switch (self, other) {
        case (.endpoint, .quota), (.endpoint, .project), (.endpoint, .logstore): true
        // A refusal for the project's quota proves that the credential is good for the project.
        case (.project, .quota), (.project, .logstore), (.quota, .logstore): true
        default: false
        }
    }
}

/// Why a gate is closed.
struct Pause {
    let failure: DeliveryFailure
    /// How far the failure reached.
    let scope: GateScope

    /// Another credential may end it.
    var mayEndWithCredential: Bool {
        failure.kind == .unauthorized || failure.kind == .suspended
    }

    /// Another endpoint may end it.
    var isUnanswered: Bool { scope == .endpoint || failure.kind == .network }

    /// The host's clock may end it.
    var isClockPause: Bool { failure.kind == .clock && scope == .logstore }
}

/// Why deliveries stood still, as a class that metrics count.
package enum PauseReason: Hashable, Sendable {
    /// A gate closed after such a failure.
    case failure(DeliveryFailure.Kind)
    /// There was no credential to sign with.
    case credential
    /// An operator held the destination.
    case held

    package static let all: [PauseReason] =
        DeliveryFailure.Kind.allCases.map { .failure($0) } + [.credential, .held]

    package var name: String {
        switch self {
        case .failure(let kind): kind.rawValue
        case .credential: "credential"
        case .held: "held"
        }
    }
}

/// The result that an SLS SDK would report, with its number, for dashboards that use these names.
package enum ProducerResult: Int, Sendable, CaseIterable {
    case ok = 0
    case writeError = 2
    case sendNetworkError = 4
    case sendQuotaError = 5
    case sendUnauthorized = 6
    case sendServerError = 7
    case sendDiscardError = 8
    case sendTimeError = 9
    case parametersInvalid = 11
    case persistentError = 99

    package var number: Int { rawValue }

    package var name: String {
        switch self {
        case .ok: "LOG_PRODUCER_OK"
        case .writeError: "LOG_PRODUCER_WRITE_ERROR"
        case .sendNetworkError: "LOG_PRODUCER_SEND_NETWORK_ERROR"
        case .sendQuotaError: "LOG_PRODUCER_SEND_QUOTA_ERROR"
        case .sendUnauthorized: "LOG_PRODUCER_SEND_UNAUTHORIZED"
        case .sendServerError: "LOG_PRODUCER_SEND_SERVER_ERROR"
        case .sendDiscardError: "LOG_PRODUCER_SEND_DISCARD_ERROR"
        case .sendTimeError: "LOG_PRODUCER_SEND_TIME_ERROR"
        case .parametersInvalid: "LOG_PRODUCER_PARAMETERS_INVALID"
        case .persistentError: "LOG_PRODUCER_PERSISTENT_ERROR"
        }
    }
}

/// Settings that the forwarder cannot start with.
package struct DeliveryError: Error, Sendable, CustomStringConvertible {
    package let description: String
}
