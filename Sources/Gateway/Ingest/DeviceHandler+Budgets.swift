import HTTP
import Logs
import Net

extension DeviceHandler {
    /// Takes what the head tells from the budgets of who sends it, and from where.
    func spend(
        _ request: AdmittedRequest,
        _ head: RequestHead,
        _ label: DeviceLabel
    ) throws(Refusal) {
        try takeDeclared(request, head, label)
        guard let budget = request.sender?.budget, !budget.isUnlimited else { return }
        do throws(Refusal) {
            try budget.enter(head, label, at: shared.clock())
        } catch {
            giveBackDeclared(request, head)
            throw error
        }
    }

    /// The content of a body, and what that takes from the budgets beyond what the head told.
    func content(
        of body: UnsafeRawBufferPointer,
        _ head: RequestHead,
        _ request: AdmittedRequest,
        _ dialect: some LogDialect
    ) throws(Refusal) -> UnsafeRawBufferPointer {
        let own = dialect.coding(head)
        let budget = request.sender?.budget
        guard request.address != nil || budget?.isUnlimited == false else {
            return try reader.content(of: body, head, own)
        }
        let now = shared.clock()
        if try reader.isCoded(head, own) || head.declaredBodyBytes == nil {
            try budget?.checkDebt(dialect.label, at: now)
            try checkDebt(request, dialect.label, at: now)
        }
        let content = try reader.content(of: body, head, own)
        budget?.settle(content.count, head, at: now)
        settle(content.count, request, head, at: now)
        return content
    }
}
