import HTTP
import Ingest
import Operations
import Queue
import System

/// Answers what other gateways of the cluster ask for their operators.
struct ClusterResponder: Sendable {
    let shared: AdminHandler.Shared

    /// From now on.
    func begin() {
        shared.store.others?.answerQuestions { [self] question, reply in
            let isTaken = shared.workers.answers.post { answer(ClusterQuestion(question), reply) }
            if !isTaken { reply(ClusterAnswer.bytes(of: Self.busy)) }
        }
    }

    private static let busy = HTTPProblem(503, "ServerBusy", "too many requests are waiting")
        .response

    private func answer(
        _ question: ClusterQuestion?,
        _ reply: @escaping @Sendable ([UInt8]) -> Void
    ) {
        switch question {
        case .sums: reply(ClusterAnswer.bytes(of: shared.store.deadLetterSums))
        case .letters(let after, let filter, let limit, let isWhole):
            let list = LetterList(cluster: ClusterView(store: shared.store), isWhole: isWhole)
            do throws(QueueError) {
                guard let found = try list.answer(after, filter, limit: limit) else {
                    return reply(ClusterAnswer.bytes(of: HTTPProblem.noDeadLetter(after).response))
                }
                reply(ClusterAnswer.bytes(of: found))
            } catch {
                let problem = HTTPProblem(503, "ServerBusy", error.description)
                reply(ClusterAnswer.bytes(of: problem.response))
            }
        case .request(let request):
            carryOut(request, Responder { reply(ClusterAnswer.bytes(of: $0)) })
        case nil:
            let problem = HTTPProblem(501, "NotSupported", "this gateway has another version")
            reply(ClusterAnswer.bytes(of: problem.response))
        }
    }

    /// Only what an operator may do to a queue comes this way.
    private func carryOut(_ request: RelayedRequest, _ responder: Responder) {
        let head = request.head
        guard let route = AdminRoute(path: head.pathText), route.methods.contains(head.method)
        else { return responder.send(AdminRoute.unknownPath.response) }
        switch route {
        case .deadLetter, .deadLetterReplay, .deadLetterPurge:
            let desk = DeadLetterDesk(
                shared.store,
                shared.devices.captures,
                shared.audit,
                views: shared.workers.answers,
                changes: shared.workers.answers
            )
            request.body.withUnsafeBytes { body in
                desk.handle(route, head, body, request.actor, responder)
            }
        case .queue, .queuePeek:
            let desk = QueueDesk(
                reporter: shared.reporter,
                store: shared.store,
                views: shared.workers.answers,
                relays: false
            )
            if route == .queue { desk.show(head, responder) } else { desk.peek(head, responder) }
        default: responder.send(AdminRoute.unknownPath.response)
        }
    }
}
