import Configuration
import HTTP

/// What a request costs of the budgets of who sends it, and from where.
extension DeviceHandler {
    /// Before the body is read.
    func spend(
        _ request: AdmittedRequest,
        _ head: RequestHead,
        _ label: DeviceLabel
    ) throws(Refusal) {
        guard request.isBounded else { return }
        let declared = declaredBytes(head)
        // What is too large in any case is none of a budget's business.
        guard declared <= shared.limits.bodyBytes else { return }
        let now = shared.clock()
        try takeBytes(declared, request, label, at: now, onlyAsking: true)
        try request.sender?.budget.enter(declared, label, at: now)
    }

    /// When the body is there, and before anything is made of it.
    func takeDeclared(
        _ request: AdmittedRequest,
        _ head: RequestHead,
        _ label: DeviceLabel
    ) throws(Refusal) {
        guard request.isBounded else { return }
        let (declared, now) = (declaredBytes(head), shared.clock())
        // Mostly both fit, since that was asked. An address gets nothing back where others were faster with its key.
        try takeBytes(declared, request, label, at: now)
        try request.sender?.budget.take(declared, label, at: now)
    }

    /// Takes what the head did not tell.
    func settle(_ count: Int, _ request: AdmittedRequest, _ head: RequestHead) {
        guard request.isBounded else { return }
        let missing = count - declaredBytes(head)
        guard missing > 0 else { return }
        let now = shared.clock()
        request.sender?.budget.charge(missing, at: now)
        charge(missing, request, at: now)
    }

    /// A GET brings its log in the query. Of a body without a length nobody knows more than that there is something.
    private func declaredBytes(_ head: RequestHead) -> Int {
        let body = head.declaredBodyBytes ?? 1
        guard head.method == .get, let query = head.query else { return body }
        // No more than there is room for at all.
        return max(body, min(query.count, shared.limits.bodyBytes))
    }
}

extension AdmittedRequest {
    fileprivate var isBounded: Bool { address != nil || sender?.budget.isUnlimited == false }
}
