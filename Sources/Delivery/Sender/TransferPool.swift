import HTTPClient
import System

/// The transfers of a destination: those under way, and idle ones that may be used again.
struct TransferPool {
    private var idle: [Transfer] = []
    private var underWay: [ObjectIdentifier: Transfer] = [:]
    /// Older connections are not used; nil when all may be.
    private var connectionsSince: Moment?

    var isEmpty: Bool { underWay.isEmpty }

    /// Starts a request, and returns how many bytes its body has. `whenDone` is called from `TransferLoop.perform`,
    /// never from here.
    mutating func start(
        _ request: TransferRequest,
        _ transport: TransportSettings,
        on loop: TransferLoop,
        whenDone: @escaping (Transfer, TransferOutcome) -> Void
    ) -> Int {
        let transfer =
            idle.popLast() ?? Transfer(transport.options(connectionsSince: connectionsSince))
        transfer.prepare(request)
        underWay[ObjectIdentifier(transfer)] = transfer
        loop.start(transfer, whenDone: whenDone)
        return transfer.body.count
    }

    /// The request ended. Its transfer serves another one when it is reusable: not when it was made for older settings.
    mutating func ended(_ transfer: Transfer, isReusable: Bool) {
        let known = underWay.removeValue(forKey: ObjectIdentifier(transfer))
        precondition(known != nil, "a transfer ends once")
        if isReusable { idle.append(transfer) }
    }

    /// The settings have changed, so new requests need transfers of their own. Where routes or trusted authorities
    /// may have changed they need new connections, too.
    mutating func renew(_ now: Moment, dropsConnections: Bool) {
        idle = []
        if dropsConnections { connectionsSince = now }
    }

    /// Gives up what is under way. Its packets were never acknowledged, so the queue still has them.
    mutating func abandon(_ loop: TransferLoop) {
        for transfer in underWay.values {
            transfer.leaveQuickly()
            loop.cancel(transfer)
        }
        underWay = [:]
    }
}
