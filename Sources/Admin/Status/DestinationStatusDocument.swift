import Configuration
import Delivery
import JSON
import Operations
import Queue
import System

extension JSONWriter {
    mutating func destination(_ destination: GatewayReport.Destination, now: WallTime) {
        let (settings, delivery) = (destination.settings, destination.delivery)
        member("name", destination.name)
        member("kind", settings.kind.rawValue)
        member("configured", !destination.isRemoved)
        member("notice", destination.notice)
        member("endpoint", delivery.endpoint)
        texts("endpoints", delivery.endpoints)
        member("endpoint_reason", delivery.endpointReason)
        member("address", delivery.address.isEmpty ? nil : delivery.address)
        member("resolver", delivery.resolver)
        member("project", settings.kind == .sls ? settings.project : nil)
        member("logstore", settings.logstore.name)
        member("state", delivery.stateName)
        member("trouble", destination.trouble)
        member("next_attempt", delivery.standstill?.until?.rfc3339)
        object("ledger") { $0.ledger(destination.queue.ledger) }
        member("ledger_closed", destination.queue.imbalance == 0)
        member("imbalance", destination.queue.imbalance)
        object("queue") { $0.backlog(destination.queue, now: now) }
        object("delivery") { $0.delivery(delivery, now: now) }
        lastError(delivery.lastFailure)
        objects("outlets", destination.outlets) { $0.outlet($1, now: now) }
    }

    /// What waits in the queue for a destination, and what may.
    mutating func backlog(_ destination: QueueStatus.Destination, now: WallTime) {
        member("admission", destination.admission.name)
        figures(QueueFigures.backlog, of: destination, now: now)
        figures(QueueFigures.losses, of: destination, now: now)
        age("oldest_seconds", of: destination.oldest, now: now)
        member("last_refusal", destination.lastRefusal.map { "\($0.code): \($0.message)" })
    }

    private mutating func delivery(_ delivery: DestinationStatus, now: WallTime) {
        figures(DeliveryFigures.destinations, of: delivery, now: now)
        member("host_clock_wrong_by_seconds", decimal: delivery.hostIsWrongBy?.inSeconds)
        member("failures", delivery.failures.values.reduce(0, +))
        member("failures_in_a_row", delivery.failuresInARow)
        member("last_success", delivery.lastSuccess?.rfc3339)
    }

    private mutating func outlet(_ outlet: GatewayReport.Outlet, now: WallTime) {
        member("logstore", outlet.logstore)
        figures(DeliveryFigures.logstores, of: outlet.queue, now: now)
        member("packets", outlet.queue.packets)
        age("oldest_seconds", of: outlet.queue.oldest, now: now)
        guard let delivery = outlet.delivery else { return member("state", "idle") }
        member("state", delivery.stateName)
        member("trouble", delivery.trouble)
        member("next_attempt", delivery.standstill?.until?.rfc3339)
        figures(DeliveryFigures.logstoreDelivery, of: delivery, now: now)
        member("waiting_for_retry", delivery.retrying)
        member("failures", delivery.failures.values.reduce(0, +))
        member("last_success", delivery.lastSuccess?.rfc3339)
        lastError(delivery.lastFailure)
    }

    private mutating func lastError(_ failure: DeliveryFailure?) {
        object("last_error", ifAny: failure) { json, failure in
            json.member("time", failure.at.rfc3339)
            json.member("logstore", failure.logstore)
            json.member("kind", failure.kind.rawValue)
            json.member("error", failure.summary)
            json.object("result") { json in
                json.member("name", failure.result.name)
                json.member("number", failure.result.number)
            }
            json.member("request_id", failure.requestID)
            json.member("remedy", failure.remedy)
        }
    }
}
