import Configuration
import HTTP
import Operations
import System

extension Steering {
    /// A responder that labels what goes through it, and tells the journal of changes that were refused.
    func answering(_ head: RequestHead, _ label: Int, _ responder: Responder) -> Responder {
        let word = AnswerOnStop(helm) { responder.send($0.labelled(label)) }
        guard !head.method.isReading else { return Responder { word.give($0) } }
        return Responder { [self] response in
            if (400..<500).contains(response.status) { tellRefused(head, response.status) }
            word.give(response)
        }
    }

    /// What was tried and by whom. The answer's reason may repeat what the request brought, so it is not told.
    func tellRefused(_ head: RequestHead, _ status: Int) {
        let keys = adminKeys.withLock { $0 }
        let holder = head.fieldRange("authorization").flatMap { keys.holder(of: head.bytes[$0]) }
        guard let holder else { return }
        journal.warning(
            "a change by an operator was refused",
            [
                "actor": holder.name(at: head.peer), "address": head.peer.host,
                "method": "\(head.method)", "path": clipped(head.pathText, to: 160),
                "status": "\(status)",
            ]
        )
    }
}

extension SerialWorker {
    /// Does the work after what waits there; answers with the reason when that cannot be, or when the work says so.
    func post(
        answering responder: Responder,
        _ work: @escaping @Sendable () throws(HTTPProblem) -> Void
    ) {
        let isTaken = post {
            do throws(HTTPProblem) {
                try work()
            } catch {
                responder.send(error.response)
            }
        }
        if !isTaken { responder.send(HTTPProblem.tooManyChanges.response) }
    }
}
