/// The result that an SLS SDK would report: `LOG_PRODUCER_…` of the C and iOS SDKs, with the number that their
/// callbacks carry. For operators whose dashboards use these names.
package enum ProducerResult: Int, Sendable, CaseIterable {
    case ok = 0
    /// The sender is not usable: an unfinished configuration, or after its end.
    case invalid = 1
    case writeError = 2
    /// Given up: the buffer is full, or a policy of the operator drops it.
    case dropError = 3
    case sendNetworkError = 4
    case sendQuotaError = 5
    case sendUnauthorized = 6
    case sendServerError = 7
    case sendDiscardError = 8
    case sendTimeError = 9
    /// Not sent at shutdown, and kept.
    case sendExitBuffered = 10
    case parametersInvalid = 11
    case persistentError = 99

    package var number: Int { rawValue }

    package var name: String {
        switch self {
        case .ok: "LOG_PRODUCER_OK"
        case .invalid: "LOG_PRODUCER_INVALID"
        case .writeError: "LOG_PRODUCER_WRITE_ERROR"
        case .dropError: "LOG_PRODUCER_DROP_ERROR"
        case .sendNetworkError: "LOG_PRODUCER_SEND_NETWORK_ERROR"
        case .sendQuotaError: "LOG_PRODUCER_SEND_QUOTA_ERROR"
        case .sendUnauthorized: "LOG_PRODUCER_SEND_UNAUTHORIZED"
        case .sendServerError: "LOG_PRODUCER_SEND_SERVER_ERROR"
        case .sendDiscardError: "LOG_PRODUCER_SEND_DISCARD_ERROR"
        case .sendTimeError: "LOG_PRODUCER_SEND_TIME_ERROR"
        case .sendExitBuffered: "LOG_PRODUCER_SEND_EXIT_BUFFERED"
        case .parametersInvalid: "LOG_PRODUCER_PARAMETERS_INVALID"
        case .persistentError: "LOG_PRODUCER_PERSISTENT_ERROR"
        }
    }
}
