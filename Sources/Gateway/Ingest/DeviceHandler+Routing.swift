import HTTP

/// Where a request's logs go, as it was found when its head came.
struct AdmittedRequest {
    private let head: [UInt8]
    let target: RoutingTable.Target

    init(_ head: RequestHead, _ target: RoutingTable.Target) {
        self.head = head.bytes
        self.target = target
    }

    /// Whether it is this very head, not one that looks like it. The bytes are held here, so no other
    /// head can have their place in memory.
    func isOf(_ other: RequestHead) -> Bool {
        head.withUnsafeBufferPointer { held in
            other.bytes.withUnsafeBufferPointer { held.baseAddress == $0.baseAddress }
        }
    }
}

extension DeviceHandler {
    /// The target of a request that has come as a whole. A body mostly comes with its head, and then
    /// the target is known already.
    func admittedTarget(
        of dialect: some LogDialect,
        _ head: RequestHead
    ) throws(Refusal) -> RoutingTable.Target {
        guard let admitted, admitted.isOf(head) else { return try target(of: dialect, head) }
        self.admitted = nil
        return admitted.target
    }

    func target(
        of dialect: some LogDialect,
        _ head: RequestHead
    ) throws(Refusal) -> RoutingTable.Target {
        routes.refresh()
        return try routes.table.target(
            host: head.field("host"),
            project: head.field("x-log-project"),
            try dialect.address(head)
        )
    }
}
