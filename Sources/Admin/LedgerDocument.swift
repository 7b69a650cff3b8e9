import JSON
import Operations
import Queue

extension GatewayReport {
    /// `/admin/ledger`: where every log is, and whether that adds up.
    var ledgerDocument: String {
        var json = JSONWriter()
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
}
