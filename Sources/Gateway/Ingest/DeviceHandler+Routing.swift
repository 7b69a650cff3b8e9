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
        of route: DeviceRoute,
        _ head: RequestHead
    ) throws(Refusal) -> RoutingTable.Target {
        guard let admitted, admitted.isOf(head) else { return try target(of: route, head) }
        self.admitted = nil
        return admitted.target
    }

    func target(of route: DeviceRoute, _ head: RequestHead) throws(Refusal) -> RoutingTable.Target {
        routes.refresh()
        let host = head.field("host")
        let project = head.field("x-log-project")
        switch route {
        case .track(let name):
            let logstore = String(decoding: head.bytes[name], as: UTF8.self)
            return try routes.table.target(host: host, project: project, logstore: logstore)
        case .logs(let tag):
            return try routes.table.target(
                host: host,
                project: project,
                tag: try self.tag(tag, head)
            )
        case .serverTime, .health, .server, .unknown:
            throw .unknownPath
        }
    }

    private func tag(_ range: Range<Int>, _ head: RequestHead) throws(Refusal) -> String {
        guard let tag = percentDecoded(head.bytes[range]), (1...128).contains(tag.utf8.count),
            tag.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7f })
        else {
            throw Refusal(
                400,
                "ParameterInvalid",
                "the tag in /logs/{tag} has 1 to 128 bytes of UTF-8 without control characters"
            )
        }
        return tag
    }
}
