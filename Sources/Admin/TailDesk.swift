import Configuration
import HTTP
import Ingest
import Operations
import System

extension AdminCall {
    /// `GET /admin/tail`: server-sent events.
    func tail() throws(HTTPProblem) -> Response? {
        guard let visitor, let stream else { return nil }
        let filter = try TailFilter(head)
        let response = Response(
            status: 200,
            fields: [("content-type", "text/event-stream")],
            body: Array(": logs as they are accepted\n\n".utf8)
        )
        let open = { stream.responder.stream(response.labelled(stream.label)) }
        let isOver = { @Sendable [session = visitor.session] in
            guard let session else { return false }
            guard !session.isOver(.now) else { return true }
            session.use(.now)
            return false
        }
        guard shared.parts.tail.add(visitor.holder, filter, isOver: isOver, open) else {
            throw .busy(
                "\(Tail.shares.ofToken) tails of this token are open, or \(Tail.shares.all) of all; "
                    + "close one of them"
            )
        }
        return nil
    }
}
