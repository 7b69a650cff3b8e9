import HTTP
import Operations
import Queue
import SQLiteQueue
import System

/// Answers `GET /admin/queue`: the waiting logs by destination and stream, and their age.
struct QueueDesk {
    private static let patience: Duration = .seconds(2)

    let reporter: Reporter
    let store: DurableQueue
    /// The thread for long reads.
    let views: SerialWorker

    func show(_ head: RequestHead, _ responder: Responder) {
        do throws(HTTPProblem) {
            let wish = try StreamWish(head)
            if let name = wish.destination {
                let known = reporter.report.destinations
                guard known.contains(where: { $0.name == name }) else { throw .noDestination(name) }
            }
            let wantsText = head.wantsText
            // Answered at once, whatever the queue's thread does.
            guard wish.count > 0 else {
                return responder.send(response(wish, nil, wantsText))
            }
            // A slow read delays neither the queue's thread nor the thread of changes.
            let isTaken = views.post {
                responder.send(response(wish, listing(wish), wantsText))
            }
            guard isTaken else { throw .tooManyViews }
        } catch {
            responder.send(error.response)
        }
    }

    /// nil when the queue's thread does not answer in time, for example because the disk hangs. The rest is shown anyway.
    private func listing(_ wish: StreamWish) -> StreamListing? {
        guard let outcome = try? Promise<StreamListing?>() else { return nil }
        store.list(wish) { outcome.bring($0) }
        return outcome.wait(atMost: Self.patience) ?? nil
    }

    private func response(
        _ wish: StreamWish,
        _ listing: StreamListing?,
        _ wantsText: Bool
    ) -> Response {
        let view = QueueView(
            report: reporter.report,
            destination: wish.destination,
            listing: listing
        )
        return wantsText ? Response(text: view.text) : Response(json: view.document)
    }
}

extension HTTPProblem {
    fileprivate static let tooManyViews = HTTPProblem(
        503,
        "ServerBusy",
        "too many stream listings are waiting; retry, or ask with streams=0"
    )
}

extension StreamWish {
    private static let known =
        "known: destination, streams (0 to 1000), order (oldest, largest)"

    init(_ head: RequestHead) throws(HTTPProblem) {
        func problem(_ reason: String) -> HTTPProblem {
            HTTPProblem(400, "ParameterInvalid", "\(reason); \(Self.known)")
        }
        self.init()
        guard let pairs = head.queryPairs else { throw problem("the query cannot be read") }
        for (name, value) in pairs {
            switch name {
            case "destination": destination = value
            case "streams":
                guard value.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                    let number = Int(value), number <= Self.countMax
                else { throw problem("streams cannot be \(clipped(value))") }
                count = number
            case "order":
                guard let order = Order(rawValue: value) else {
                    throw problem("order cannot be \(clipped(value))")
                }
                self.order = order
            default: throw problem("\(clipped(name)) is not a parameter here")
            }
        }
    }
}

/// The data of one answer about the queue.
struct QueueView {
    let report: GatewayReport
    /// nil: all destinations.
    let destination: String?
    /// nil if streams were not requested or could not be read.
    let listing: StreamListing?

    var destinations: [GatewayReport.Destination] {
        report.destinations.filter { destination ?? $0.name == $0.name }
    }

    /// nil if `listing` is; empty if nothing waits.
    func streams(of destination: String) -> StreamListing.Destination? {
        listing.map { $0.destinations[destination] ?? StreamListing.Destination() }
    }
}
