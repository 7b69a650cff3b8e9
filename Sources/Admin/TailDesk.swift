import Configuration
import HTTP
import Ingest

/// Answers `GET /admin/tail` with server-sent events.
struct TailDesk {
    let tail: Tail

    func follow(
        _ head: RequestHead,
        _ holder: AdminHolder,
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
            guard tail.add(holder, filter, { responder.stream(response.labelled(label)) }) else {
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
