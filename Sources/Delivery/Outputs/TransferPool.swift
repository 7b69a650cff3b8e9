import HTTPClient
import System

/// Carries requests through curl, on the delivery thread. It keeps idle transfers, which may be used again.
final class TransferPool: Carrier {
    private var transport: TransportSettings
    private var idle: [Transfer] = []
    private var underWay: [ObjectIdentifier: Transfer] = [:]
    /// Older connections are not used; nil when all may be.
    private var connectionsSince: Moment?
    /// Counts the settings it has had. A transfer that was made for older ones serves no other request.
    private var generation = 0

    init(_ transport: TransportSettings) {
        self.transport = transport
    }

    var isIdle: Bool { underWay.isEmpty }

    func begin(on loop: TransferLoop) {}

    func start(
        _ work: CarrierWork,
        on loop: TransferLoop,
        whenDone: @escaping (CarriedWork) -> Void
    ) -> Int {
        guard case .request(let request) = work else {
            preconditionFailure("this output's carrier is another one")
        }
        let transfer =
            idle.popLast() ?? Transfer(transport.options(connectionsSince: connectionsSince))
        transfer.prepare(request)
        underWay[ObjectIdentifier(transfer)] = transfer
        loop.start(transfer) { [self, generation] transfer, outcome in
            ended(transfer, isReusable: generation == self.generation)
            let body = transfer.body
            whenDone(
                CarriedWork(
                    outcome: .request(outcome),
                    started: transfer.started,
                    bytes: body.count,
                    isTaken: body.isTaken,
                    isRepeated: body.isRepeated
                )
            )
        }
        return transfer.body.count
    }

    /// `TransferLoop.perform` does it.
    func finishEnded() -> Int { 0 }

    private func ended(_ transfer: Transfer, isReusable: Bool) {
        let known = underWay.removeValue(forKey: ObjectIdentifier(transfer))
        precondition(known != nil, "a transfer ends once")
        if isReusable { idle.append(transfer) }
    }

    /// New requests need transfers of their own. Where routes or trusted authorities may have changed they need new
    /// connections, too.
    func use(_ settings: DestinationSettings, _ now: Moment) {
        generation += 1
        idle = []
        if settings.transport.needsNewConnections(after: transport) { connectionsSince = now }
        transport = settings.transport
    }

    /// Packets of abandoned requests were never acknowledged, so the queue still has them.
    func abandon(_ loop: TransferLoop) {
        for transfer in underWay.values {
            transfer.leaveQuickly()
            loop.cancel(transfer)
        }
        underWay = [:]
    }
}
