package import Configuration
package import HTTP
import Logs
package import Queue
package import System

/// Answers devices. One for each loop thread, with a decoder and an inflater of its own.
package final class DeviceHandler: RequestHandler {
    /// What the handlers of all loops share.
    package struct Shared: Sendable {
        package let queue: any BatchQueue
        package let routes: Replaceable<RoutingTable>
        package let door: DeviceDoor
        package let limits: LimitSettings
        package let mint: ReceiptMint
        package let counters: IngestCounters
        package let intake = IntakeSwitch()
        /// What budgets go by.
        var clock: @Sendable () -> Moment = { .now }
        /// SLS's clock minus the host's, where a destination knows that the host's is wrong.
        package var clockOffset: @Sendable (String) -> Duration = { _ in .zero }
        /// Nil where nobody can look.
        package var tail: Tail?
        /// Whether the queue is told what a request would be recognised by if it came again.
        package let recognizesRepeats: Bool

        package init(
            queue: any BatchQueue,
            routes: RoutingTable,
            devices: DeviceSettings = DeviceSettings(),
            limits: LimitSettings = LimitSettings(),
            recognizesRepeats: Bool = true,
            counters: IngestCounters = IngestCounters()
        ) {
            self.queue = queue
            self.routes = Replaceable(routes)
            door = DeviceDoor(devices, bodyBytesMax: limits.bodyBytes)
            self.limits = limits
            self.mint = ReceiptMint()
            self.counters = counters
            self.recognizesRepeats = recognizesRepeats
        }
    }

    let shared: Shared
    let answers: DeviceAnswers
    let reader: BodyDecoder
    var routes: Replaceable<RoutingTable>.Snapshot
    var keys: Replaceable<DeviceKeys>.Snapshot
    /// The last request that was let in, until it is handled.
    var admitted: AdmittedRequest?
    private var stamp: Stamp

    package init(_ shared: Shared) {
        self.shared = shared
        answers = DeviceAnswers(counters: shared.counters)
        reader = BodyDecoder(shared.limits)
        routes = Replaceable.Snapshot(of: shared.routes)
        keys = Replaceable.Snapshot(of: shared.door.keys)
        stamp = Stamp(mint: shared.mint)
    }

    package func admit(_ head: RequestHead) -> Admission {
        keys.refresh()
        let route = DeviceRoute(head, keys.value.accepted)
        do throws(Refusal) {
            if case .unknown = route { throw keys.value.accepted.unknownPath }
            guard route.methods.all.contains(head.method) else { throw .method(route) }
            guard case .logs(let dialect) = route, head.method != .options else {
                if head.method == .options { try checkPreflight(head, route) }
                guard !head.announcesBody else { throw .unwantedBody }
                return .accept(bodyBytesMax: 0)
            }
            return try admit(head, dialect)
        } catch {
            return .refuse(answers.refused(error, route, crossOrigin(head)))
        }
    }

    private func admit(_ head: RequestHead, _ dialect: some LogDialect) throws(Refusal) -> Admission
    {
        guard !dialect.bringsLogs || !shared.intake.isOff else { throw .draining }
        let address = address(of: head)
        try enter(address, dialect.label)
        let request = try look(at: head, dialect, address)
        let target = request.target
        let admission = admission(for: target, dialect)
        guard admission == .open else { throw Refusal(admission) }
        // Last of all: what is refused here for another reason costs nothing.
        try spend(request, head, dialect.label)
        admitted = request
        return .accept(bodyBytesMax: shared.limits.bodyBytes)
    }

    /// Logs may name logstores that have a place where the address's has none, so those are asked for when they
    /// are known.
    private func admission(
        for target: RoutingTable.Target,
        _ dialect: some LogDialect
    ) -> QueueAdmission {
        guard dialect.bringsLogs else { return .open }
        guard dialect.bodyNamesLogstores, target.tag != nil else {
            return shared.queue.admission(for: target.outlet)
        }
        return shared.queue.admission(forDestination: target.destination)
    }

    /// Decoding a mebibyte of the most expensive content takes about 55 ms; see `Scripts/prove cost`.
    private static let shortContentBytes = 1 << 20

    package func costIfLarge(_ head: RequestHead, bodyBytes: Int) -> Int? {
        guard reader.limit.allowance(for: bodyBytes) > Self.shortContentBytes else { return nil }
        guard case .logs(let dialect) = DeviceRoute(head, keys.value.accepted) else { return nil }
        let bytes = reader.contentBytesMax(of: bodyBytes, head, dialect.coding(head))
        return max(bytes, bodyBytes) > Self.shortContentBytes ? bytes : nil
    }

    package func handle(
        _ head: RequestHead,
        body: UnsafeRawBufferPointer,
        responder: Responder
    ) {
        // A worker's handler admits nothing, so this is where it learns of a reload.
        keys.refresh()
        let route = DeviceRoute(head, keys.value.accepted)
        guard head.method != .options else {
            let headers = keys.value.preflightHeaders
            return responder.send(answers.preflight(route, headers, crossOrigin(head)))
        }
        switch route {
        case .logs(let dialect):
            do throws(Refusal) {
                try take(head, dialect, body, responder)
            } catch {
                responder.send(answers.refused(error, route, crossOrigin(head)))
            }
        case .page(let page): responder.send(answers.page(page))
        // The dialect was switched off while the body came.
        case .unknown:
            let refusal = keys.value.accepted.unknownPath
            responder.send(answers.refused(refusal, route, crossOrigin(head)))
        }
    }

    package func answer(to problem: RequestProblem, head: RequestHead?) -> Response {
        let route =
            head.map { DeviceRoute($0, keys.value.accepted) } ?? .unknown(isSLSPath: false)
        var refusal = Refusal(problem)
        // On a bad line logs come slowly: SDKs drop what is answered with 408, and keep what is 503. A head that
        // nobody could read may have been that of logs.
        if problem.status == 408, head == nil || route.isForLogs {
            refusal = Refusal(503, "ServerBusy", "\(problem.reason); send the logs again")
        }
        return answers.refused(refusal, route, crossOrigin(head))
    }

    package func stamp(_ fields: inout [UInt8], of response: Response) {
        shared.counters.answers.count(response)
        stamp.apply(to: &fields, of: response)
    }
}
