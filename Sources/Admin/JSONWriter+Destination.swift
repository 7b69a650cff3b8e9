import Delivery
import JSON
import Operations
import Queue
import System

extension JSONWriter {
    mutating func destination(_ destination: GatewayReport.Destination, now: WallTime) {
        let delivery = destination.delivery
        member("name", destination.name)
        member("configured", !destination.isRemoved)
        member("notice", destination.notice)
        member("endpoint", destination.endpoint)
        array("endpoints") { json in delivery.endpoints.forEach { json.element($0) } }
        member("endpoint_reason", delivery.endpointReason)
        member("project", destination.project)
        member("logstore", destination.logstore)
        member("state", delivery.stateName)
        member("trouble", destination.trouble)
        member("next_attempt", delivery.standstill?.until?.rfc3339)
        object("ledger") { $0.ledger(destination.queue.ledger) }
        member("ledger_closed", destination.queue.imbalance == 0)
        object("queue") { $0.backlog(destination.queue, now: now) }
        object("delivery") { $0.delivery(delivery) }
        lastError(delivery.lastFailure)
        array("outlets") { json in
            for outlet in destination.outlets { json.object { $0.outlet(outlet, now: now) } }
        }
    }

    private mutating func delivery(_ delivery: DestinationStatus) {
        member("limit", delivery.limit)
        member("in_flight", delivery.inFlight)
        member("leased_packets", delivery.leased)
        member("waiting_for_retry", delivery.waitingRetry)
        member("rate", decimal: delivery.rate)
        member("clock_offset_seconds", decimal: delivery.clockOffset.inSeconds)
        member("host_clock_wrong_by_seconds", decimal: delivery.hostIsWrongBy?.inSeconds)
        member("awaiting_clock", delivery.awaitingClock)
        member("sent_packets", delivery.sentPackets)
        member("sent_logs", delivery.sentLogs)
        member("stored_before", delivery.storedBefore)
        member("unknown_outcomes", delivery.unknownOutcomes)
        member("isolated_packets", delivery.isolated.packets)
        member("discarded_packets", delivery.discarded.packets)
        member("relaned_packets", delivery.relaned)
        member("unreadable_packets", delivery.voided.packets)
        member("resigned_requests", delivery.resigned)
        member("failures", delivery.failures.values.reduce(0, +))
        member("failures_in_a_row", delivery.failuresInARow)
        member("last_success", delivery.lastSuccess?.rfc3339)
    }

    private mutating func outlet(_ outlet: GatewayReport.Outlet, now: WallTime) {
        member("logstore", outlet.logstore)
        member("queued_logs", outlet.queue.queued)
        member("packets", outlet.queue.packets)
        member("lanes_in_use", outlet.queue.lanesInUse)
        age("oldest_seconds", of: outlet.queue.oldest, now: now)
        guard let delivery = outlet.delivery else { return member("state", "idle") }
        member("state", delivery.stateName)
        member("trouble", delivery.trouble)
        member("next_attempt", delivery.standstill?.until?.rfc3339)
        member("limit", delivery.limit)
        member("in_flight", delivery.inFlight)
        member("waiting_packets", delivery.waiting)
        member("waiting_for_retry", delivery.retrying)
        member("rate", decimal: delivery.rate)
        member("sent_packets", delivery.sentPackets)
        member("sent_logs", delivery.sentLogs)
        member("failures", delivery.failures.values.reduce(0, +))
        member("last_success", delivery.lastSuccess?.rfc3339)
        lastError(delivery.lastFailure)
    }

    private mutating func lastError(_ failure: DeliveryFailure?) {
        guard let failure else { return member("last_error", String?.none) }
        object("last_error") { json in
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
