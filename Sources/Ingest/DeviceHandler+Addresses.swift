import HTTP
import Net
import System

/// What each address may send. Requests that bring logs count as they come, whatever becomes of them, so that nobody
/// can keep the gateway busy with looking at keys; bytes as those of a key do (see `SenderBudget`). What else is asked
/// costs no more to answer than it would to refuse.
extension DeviceHandler {
    /// Nil where addresses may send what they like.
    func address(of head: RequestHead) -> Neighbourhood? {
        keys.refresh()
        guard keys.value.addressLimits != nil else { return nil }
        return head.clientAddress(behind: keys.value.proxies)?.neighbourhood
    }

    func enter(_ address: Neighbourhood?, _ label: DeviceLabel) throws(Refusal) {
        guard let address, let limits = keys.value.addressLimits, let rate = limits.rate else {
            return
        }
        let time = shared.door.addresses.take(
            1,
            of: .rate,
            rate,
            for: address,
            atMost: limits.addressesMax,
            at: shared.clock()
        )
        if let time {
            throw .overBudget("this address sends more requests than it may", label, after: time)
        }
    }

    func takeBytes(
        _ count: Int,
        _ request: AdmittedRequest,
        _ label: DeviceLabel,
        at now: Moment,
        onlyAsking: Bool = false
    ) throws(Refusal) {
        guard let address = request.address, let limits = keys.value.addressLimits,
            let bytes = limits.bytes
        else { return }
        let time = shared.door.addresses.take(
            count,
            of: .bytes,
            bytes,
            for: address,
            atMost: limits.addressesMax,
            at: now,
            onlyAsking: onlyAsking
        )
        if let time {
            throw .overBudget("this address sends more bytes than it may", label, after: time)
        }
    }

    func charge(_ count: Int, _ request: AdmittedRequest, at now: Moment) {
        guard let address = request.address, let limits = keys.value.addressLimits,
            let bytes = limits.bytes
        else { return }
        shared.door.addresses.charge(
            count,
            of: .bytes,
            bytes,
            for: address,
            atMost: limits.addressesMax,
            at: now
        )
    }
}
