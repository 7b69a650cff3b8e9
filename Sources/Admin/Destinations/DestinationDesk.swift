import Configuration
import HTTP
import Operations
import Queue

/// Answers what operators ask of destinations: look, change, reset, pause, resume, flush.
struct DestinationDesk {
    let steering: Steering

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
        case (.destinations, _): responder.send(steering.destinationsAnswer(head.wantsText))
        case (.destination(let name), .patch):
            let patch = Array(body)
            let entry = steering.audit.entry(holder, head, "patch", "destination \(name)")
            let condition = try IfMatch(head)
            change(name, head, responder) { steering throws(HTTPProblem) in
                try steering.patch(name, patch, if: condition, entry)
            }
        case (.destination(let name), .delete):
            let entry = steering.audit.entry(holder, head, "reset", "destination \(name)")
            let condition = try IfMatch(head)
            change(name, head, responder) { steering throws(HTTPProblem) in
                try steering.reset(name, if: condition, entry)
            }
        case (.destination(let name), _):
            responder.send(try steering.destinationAnswer(name, head.wantsText))
        case (.destinationPause(let name), _):
            let entry = steering.audit.entry(holder, head, "pause", "destination \(name)")
            change(name, head, responder) { steering throws(HTTPProblem) in
                try steering.hold(name, true, entry)
            }
        case (.destinationResume(let name), _):
            let entry = steering.audit.entry(holder, head, "resume", "destination \(name)")
            change(name, head, responder) { steering throws(HTTPProblem) in
                try steering.hold(name, false, entry)
            }
        case (.destinationFlush(let name), _):
            let entry = steering.audit.entry(holder, head, "flush", "destination \(name)")
            change(name, head, responder) { steering throws(HTTPProblem) in
                try steering.flush(name, entry)
            }
        default: responder.send(AdminRoute.unknownPath.response)
        }
    }

    /// Makes the change at the helm, and answers with what the destination is then.
    private func change(
        _ name: String,
        _ head: RequestHead,
        _ responder: Responder,
        _ change: @escaping @Sendable (Steering) throws(HTTPProblem) -> Void
    ) {
        let steering = steering
        let wantsText = head.wantsText
        steering.helm.post(answering: responder) { () throws(HTTPProblem) in
            try change(steering)
            responder.send(try steering.answer(afterChangeOf: name, wantsText))
        }
    }
}
