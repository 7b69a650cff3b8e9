import HTTP
import Ingest
import Operations
import Queue
import System

/// Answers what other gateways of the cluster ask for their operators.
package struct ClusterResponder: Sendable {
    private let shared: AdminHandler.Shared

    package init(_ shared: AdminHandler.Shared) {
        self.shared = shared
    }

    /// From now on.
    package func begin() {
        shared.store.others?.answerQuestions { [self] question, reply in
            let responder = Responder { reply(ClusterAnswer.bytes(of: $0)) }
            let isTaken = shared.parts.workers.answers.post { answer(question, responder) }
            if !isTaken { responder.send(Self.busy) }
        }
    }

    private static let busy = HTTPProblem.busy("too many requests are waiting").response

    private func answer(_ question: [UInt8], _ responder: Responder) {
        guard let asked = RelayedRequest(question) else {
            let problem = HTTPProblem(501, "NotSupported", "this gateway has another version")
            return responder.send(problem.response)
        }
        let head = asked.head
        guard let found = AdminRoute.find(head.pathText), let route = found[head.method],
            route.isRelayed, case .request(_, let answer) = route.answer
        else { return responder.send(AdminRoute.unknownPath.response) }
        // A parameter of another version may choose less than all.
        if let problem = route.problem(withQueryOf: head) {
            return responder.send(problem.response)
        }
        let call = AdminCall(
            shared: shared,
            head: head,
            values: found.values,
            body: asked.body,
            actor: asked.actor,
            visitor: nil,
            responder: responder,
            stream: nil
        )
        call.respond(answer(call))
    }
}
