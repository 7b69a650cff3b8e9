import Configuration
import HTTP
import Operations
import Queue
import System

/// Answers requests of operators about destinations: show, change, reset, pause, resume, flush.
struct DestinationDesk {
    let destinations: DestinationChanges
    let reporter: Reporter
    /// The thread of changes.
    let worker: SerialWorker
    let audit: AuditTrail

    private var answers: DestinationAnswers {
        DestinationAnswers(destinations: destinations, reporter: reporter)
    }

    func handle(
        _ route: AdminRoute,
        _ head: RequestHead,
        _ body: UnsafeRawBufferPointer,
        _ holder: AdminHolder,
        _ responder: Responder
    ) {
        do throws(HTTPProblem) {
            try answer(route, head, body, holder, responder)
        } catch {
            responder.send(error.response)
        }
    }

    private func answer(
        _ route: AdminRoute,
        _ head: RequestHead,
        _ body: UnsafeRawBufferPointer,
        _ holder: AdminHolder,
        _ responder: Responder
    ) throws(HTTPProblem) {
        switch (route, head.method) {
        case (.destinations, _): responder.send(answers.all())
        case (.destination(let name), .patch):
            let patch = Array(body)
            let entry = audit.entry(holder, head, "patch", "destination \(name)")
            let condition = try IfMatch(head)
            change(name, responder) { destinations throws(HTTPProblem) in
                try destinations.patch(name, patch, if: condition, entry)
            }
        case (.destination(let name), .delete):
            let entry = audit.entry(holder, head, "reset", "destination \(name)")
            let condition = try IfMatch(head)
            change(name, responder) { destinations throws(HTTPProblem) in
                try destinations.reset(name, if: condition, entry)
            }
        case (.destination(let name), _):
            responder.send(try answers.one(name))
        case (.destinationPause(let name), _):
            let entry = audit.entry(holder, head, "pause", "destination \(name)")
            change(name, responder) { destinations throws(HTTPProblem) in
                try destinations.pause(name, entry)
            }
        case (.destinationResume(let name), _):
            let entry = audit.entry(holder, head, "resume", "destination \(name)")
            change(name, responder) { destinations throws(HTTPProblem) in
                try destinations.resume(name, entry)
            }
        case (.destinationFlush(let name), _):
            let entry = audit.entry(holder, head, "flush", "destination \(name)")
            change(name, responder) { destinations throws(HTTPProblem) in
                try destinations.flush(name, entry)
            }
        default: responder.send(AdminRoute.unknownPath.response)
        }
    }

    /// Makes the change on the thread of changes, and answers with the changed destination.
    private func change(
        _ name: String,
        _ responder: Responder,
        _ change: @escaping @Sendable (DestinationChanges) throws(HTTPProblem) -> Void
    ) {
        worker.post(answering: responder) { [answers, destinations] () throws(HTTPProblem) in
            try change(destinations)
            responder.send(try answers.afterChange(of: name))
        }
    }
}
