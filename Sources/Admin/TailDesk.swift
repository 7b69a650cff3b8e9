import Configuration
import HTTP
import Ingest
import System

/// Answers `GET /admin/tail` with server-sent events.
struct TailDesk {
    let tail: Tail

    func follow(
        _ head: RequestHead,
        _ visitor: AdminDoor.Visitor,
        _ responder: Responder,
        _ label: Int
    ) {
        do throws(HTTPProblem) {
            let filter = try TailFilter(head)
            let response = Response(
                status: 200,
                fields: [("content-type", "text/event-stream")],
                body: Array(": logs as they are accepted\n\n".utf8)
            )
            let open = { responder.stream(response.labelled(label)) }
            let isOver = { @Sendable [session = visitor.session] in
                guard let session else { return false }
                guard !session.isOver(.now) else { return true }
                session.use(.now)
                return false
            }
            guard tail.add(visitor.holder, filter, isOver: isOver, open) else {
                throw HTTPProblem(
                    503,
                    "ServerBusy",
                    "\(Tail.watchersMax) tails are open already; close one of them"
                )
            }
        } catch {
            responder.send(error.response.labelled(label))
        }
    }
}
