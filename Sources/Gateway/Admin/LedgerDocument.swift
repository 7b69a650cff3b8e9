import Delivery
import HTTP
import Queue
import System

extension GatewayReport {
    /// `/admin/ledger`: where every log is, and whether that adds up.
    var ledgerDocument: String {
        var json = JSONText()
        json.object { json in
            json.member("closed", queue.destinations.values.allSatisfy { $0.imbalance == 0 })
            json.object("ledger") { $0.ledger(queue.ledger) }
            json.object("destinations") { json in
                for (name, destination) in queue.destinations.sorted(by: { $0.key < $1.key }) {
                    json.object(name) { json in
                        json.ledger(destination.ledger)
                        json.member("imbalance", destination.imbalance)
                    }
                }
            }
        }
        return json.text + "\n"
    }

    /// `/admin/queue`: what waits, how much of what may, and for how long.
    var queueDocument: String {
        var json = JSONText()
        json.object { json in
            json.object("queue") { $0.queue(queue, now: now) }
            json.object("destinations") { json in
                for destination in destinations {
                    json.object(destination.name) { json in
                        json.member("queued_logs", destination.queue.ledger.queued)
                        json.backlog(destination.queue, now: now)
                        json.array("outlets") { json in
                            for outlet in destination.outlets {
                                json.object { json in
                                    json.member("logstore", outlet.logstore)
                                    json.member("queued_logs", outlet.queue.queued)
                                    json.member("packets", outlet.queue.packets)
                                    json.age("oldest_seconds", of: outlet.queue.oldest, now: now)
                                }
                            }
                        }
                    }
                }
            }
        }
        return json.text + "\n"
    }

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
            let dead = queue.ledger.dead > 0 ? ", \(queue.ledger.dead) dead letters" : ""
            return Response(text: "\(state): \(queue.ledger.queued) queued\(held)\(dead)\n")
        }
        var json = JSONText()
        json.object { json in
            json.member("draining", isDraining)
            json.member("queued", queue.ledger.queued)
            json.member("held", heldLogs)
            json.member("dead", queue.ledger.dead)
        }
        return Response(json: json.text + "\n")
    }
}
