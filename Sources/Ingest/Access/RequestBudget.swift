import HTTP
import System

/// The budgets that a request takes from: its address's and its key's.
struct RequestBudget: Sendable {
    private let address: AddressBudget?
    private let sender: SenderBudget?
    /// Bytes that the head declares. 0 without a budget: then it is not used.
    private let declared: Int
    private let bodyBytesMax: Int

    init(_ head: RequestHead, _ address: AddressBudget?, _ sender: SenderBudget?, bodyBytesMax: Int)
    {
        self.address = address
        self.sender = sender?.isUnlimited == true ? nil : sender
        self.bodyBytesMax = bodyBytesMax
        let isBounded = self.address != nil || self.sender != nil
        declared = isBounded ? Self.declaredBytes(head, bodyBytesMax) : 0
    }

    /// A GET has its log in the query. A body of unknown length counts as one byte.
    private static func declaredBytes(_ head: RequestHead, _ bodyBytesMax: Int) -> Int {
        let body = head.declaredBodyBytes ?? 1
        guard head.method == .get, let query = head.query else { return body }
        // No more than any budget holds.
        return max(body, min(query.count, bodyBytesMax))
    }

    var isBounded: Bool { address != nil || sender != nil }

    /// Before the body is read: takes one request, when the declared bytes fit too.
    func enter(_ label: DeviceLabel, at now: () -> Moment) throws(Refusal) {
        // A body that is too large is refused as such, not for a budget.
        guard isBounded, declared <= bodyBytesMax else { return }
        let now = now()
        try address?.ask(for: declared, label, at: now)
        try sender?.enter(declared, label, at: now)
    }

    /// When the body is there, before it is decoded: takes the declared bytes.
    func takeDeclared(_ label: DeviceLabel, at now: () -> Moment) throws(Refusal) {
        guard isBounded else { return }
        let now = now()
        // `enter` found room for both, so both mostly fit. The address gets nothing back when other
        // requests emptied the key's budget meanwhile.
        try address?.take(declared, label, at: now)
        try sender?.take(declared, label, at: now)
    }

    /// Takes the bytes that the head did not declare.
    func settle(_ count: Int, at now: () -> Moment) {
        guard isBounded, count > declared else { return }
        let now = now()
        sender?.charge(count - declared, at: now)
        address?.charge(count - declared, at: now)
    }
}
