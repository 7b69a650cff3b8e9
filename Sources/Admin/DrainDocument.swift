import Delivery
import HTTP
import JSON
import Operations
import Queue
import System

extension GatewayReport {
    /// Logs of destinations that an operator paused.
    private var heldLogs: Int64 {
        destinations.filter { $0.delivery.state == .held }
            .reduce(0) { $0 + $1.queue.ledger.queued }
    }

    /// `/admin/drain`: how far it is.
    func drainAnswer(_ wantsText: Bool) -> Response {
        guard !wantsText else {
            let state = isDraining ? "draining, no more logs are taken" : "logs are taken"
            let held = heldLogs > 0 ? ", \(heldLogs) of them of paused destinations" : ""
            let dead = queue.ledger.dead > 0 ? ", " + counted(queue.ledger.dead, "dead letter") : ""
            let arriving = arriving > 0 ? ", \(counted(arriving, "request")) being stored" : ""
            return Response(
                text: "\(state): \(queue.ledger.queued) queued\(arriving)\(held)\(dead)\n"
            )
        }
        var json = JSONWriter()
        json.object { json in
            json.member("draining", isDraining)
            json.member("queued", queue.ledger.queued)
            json.member("arriving", arriving)
            json.member("held", heldLogs)
            json.member("dead", queue.ledger.dead)
        }
        return Response(json: json.text + "\n")
    }
}
