import HTTP
import Net
import System

/// What each address may send. Requests count as they come, whatever becomes of them, so that nobody can keep the
/// gateway busy with those that it refuses; bytes as those of a key do (see `SenderBudget`).
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

    func takeDeclared(
        _ request: AdmittedRequest,
        _ head: RequestHead,
        _ label: DeviceLabel
    ) throws(Refusal) {
        // Of what has no length, there must be room for anything at all.
        let declared = head.declaredBodyBytes
        guard declared ?? 0 <= shared.limits.bodyBytes else { return }
        if declared == nil {
            try checkDebt(request, label, at: shared.clock())
        } else {
            try takeBytes(declared ?? 0, request, label, at: shared.clock())
        }
    }

    func giveBackDeclared(_ request: AdmittedRequest, _ head: RequestHead) {
        guard let declared = head.declaredBodyBytes, declared <= shared.limits.bodyBytes else {
            return
        }
        charge(-declared, request, at: shared.clock())
    }

    /// To be asked before a body is inflated whose size nobody knows.
    func checkDebt(
        _ request: AdmittedRequest,
        _ label: DeviceLabel,
        at now: Moment
    ) throws(Refusal) {
        try takeBytes(1, request, label, at: now)
        charge(-1, request, at: now)
    }

    /// Takes what the head did not tell.
    func settle(
        _ contentBytes: Int,
        _ request: AdmittedRequest,
        _ head: RequestHead,
        at now: Moment
    ) {
        charge(max(0, contentBytes - (head.declaredBodyBytes ?? 0)), request, at: now)
    }

    private func takeBytes(
        _ count: Int,
        _ request: AdmittedRequest,
        _ label: DeviceLabel,
        at now: Moment
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
            at: now
        )
        if let time {
            throw .overBudget("this address sends more bytes than it may", label, after: time)
        }
    }

    private func charge(_ count: Int, _ request: AdmittedRequest, at now: Moment) {
        guard count != 0, let address = request.address, let limits = keys.value.addressLimits,
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
