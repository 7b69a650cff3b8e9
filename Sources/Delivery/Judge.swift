import SLS
import System

/// Decides from what came back whether a packet is stored, and names the reason when it is not.
enum Judge {
    enum Verdict: Equatable {
        case stored
        case retry(Reason)
    }

    /// A failure without the circumstances that the judge does not look at.
    struct Reason: Equatable {
        var kind: DeliveryFailure.Kind
        var status: Int?
        var code: String?
        var message: String
        var requestID: String?
        var remedy: String
    }

    static func verdict(on answer: SLSAnswer) -> Verdict {
        if answer.isStored { return .stored }
        guard let requestID = answer.requestID else { return .retry(foreign(answer.status)) }
        let known = answer.errorCode.flatMap(ErrorCode.known)
        let kind: DeliveryFailure.Kind =
            known.map { Self.kind(of: $0) } ?? Self.kind(of: answer.status)
        return .retry(
            Reason(
                kind: kind,
                status: answer.status,
                code: answer.errorCode,
                message: answer.errorMessage ?? known?.meaning ?? "HTTP status \(answer.status)",
                requestID: requestID,
                remedy: known?.remedy ?? "look the code up in the documentation of SLS"
            )
        )
    }

    static func verdict(on problem: TransportProblem) -> Verdict {
        .retry(
            Reason(
                kind: .network,
                code: problem.code,
                message: problem.message,
                remedy: problem.remedy
            )
        )
    }

    /// A captive portal, a proxy, a wrong server: even its 200 says nothing about the packet.
    private static func foreign(_ status: Int) -> Reason {
        Reason(
            kind: .notSLS,
            status: status,
            message:
                "the answer with HTTP status \(status) has no x-log-requestid: it is not from SLS",
            remedy:
                "check the endpoint, and what stands between here and SLS (proxy, load balancer)"
        )
    }

    private static func kind(of code: ErrorCode) -> DeliveryFailure.Kind {
        switch code.cure {
        case .waiting: .server
        case .slowing: .quota
        case .authorizing: .unauthorized
        case .naming: .notFound
        case .paying: .suspended
        case .clock: .clock
        case .takingOut: .content
        case .repairing: .request
        case .nothing: .other
        }
    }

    /// For codes that nobody knows.
    private static func kind(of status: Int) -> DeliveryFailure.Kind {
        switch status {
        case 401: .unauthorized
        case 403, 429: .quota
        case 404: .notFound
        case 405, 411, 415: .request
        case 413: .content
        case 500...: .server
        default: .other
        }
    }
}
