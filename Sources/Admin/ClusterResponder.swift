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
            let isTaken = shared.workers.answers.post { answer(ClusterQuestion(question), reply) }
            if !isTaken { reply(ClusterAnswer.bytes(of: Self.busy)) }
        }
    }

    private static let busy = HTTPProblem.busy("too many requests are waiting").response

    private func answer(
        _ question: ClusterQuestion?,
        _ reply: @escaping @Sendable ([UInt8]) -> Void
    ) {
        switch question {
        case .sums: reply(ClusterAnswer.bytes(of: shared.store.deadLetterSums))
        case .letters(let after, let filter, let limit, let isWhole):
            let list = LetterList(cluster: ClusterView(store: shared.store), isWhole: isWhole)
            do throws(HTTPProblem) {
                guard let found = try list.answer(after, filter, limit: limit) else {
                    throw .noDeadLetter(after)
                }
                reply(ClusterAnswer.bytes(of: found))
            } catch {
                reply(ClusterAnswer.bytes(of: error.response))
            }
        case .request(let request):
            carryOut(request, Responder { reply(ClusterAnswer.bytes(of: $0)) })
        case nil:
            let problem = HTTPProblem(501, "NotSupported", "this gateway has another version")
            reply(ClusterAnswer.bytes(of: problem.response))
        }
    }

    private func carryOut(_ asked: RelayedRequest, _ responder: Responder) {
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
