import Queue
import System

extension DeathReason {
    /// `serverTime` is SLS's, where it is what a log's time is measured by.
    init(_ judgement: Judgement, at serverTime: WallTime? = nil) {
        self.init(
            code: judgement.code ?? "HTTP \(judgement.status ?? 0)",
            message: judgement.message,
            requestID: judgement.requestID,
            status: judgement.status,
            serverTime: serverTime
        )
    }
}
