import Queue
import System

extension GatewayReport {
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
}
