/// The result that an SLS SDK would report: `LOG_PRODUCER_…` of the C and iOS SDKs, with the number
/// that their callbacks carry. For operators whose dashboards use these names.
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
