import Configuration
import Net

@testable import Admin
@testable import HTTP
@testable import Ingest
@testable import Operations

/// The gateway's readers of request heads: routes, queries, keys, signatures, origins.
enum RequestEntry: FuzzEntry {
    static let name = "requests"
    static let bytesMax = 1024

    private static let proxies = [
        AddressRange(IPAddress(v4: 0xC000_0200), bits: 120),
        AddressRange(IPAddress(v6: 0, 0), bits: 0),
    ]

    static func run(_ bytes: [UInt8]) throws(Contradiction) {
        guard let read = try? HeadReading.read(bytes, [], .init()) else { return }
        let head = read.0.head
        let route = DeviceRoute(head, .all)
        _ = route.label
        _ = route.methods
        _ = route.refused(Refusal(400, "ParameterInvalid", "no"))
        if let route = AdminRoute(path: head.pathText) { _ = route.problem(withQueryOf: head) }
        try queries(of: head)
        _ = head.keyInFields { $0.count % 2 == 0 }
        _ = head.keyInQuery
        _ = head.accessKeyClaim
        _ = head.announcesJSON
        _ = head.clientAddress(behind: proxies)
        _ = try? IfMatch(head)
        _ = try? LokiTenant(head)
        for field in head.fields {
            let value = head.bytes[field.value]
            guard let signature = RequestSignature(value) else { continue }
            try check(signature.mac.count == 32, "a code of another size")
            try check(signature.nonce.count <= 64, "a nonce without end")
        }
    }

    private static func queries(of head: RequestHead) throws(Contradiction) {
        _ = try? HashRoute(head)
        _ = try? head.damage
        _ = try? TailFilter(head)
        if let query = try? DeadLetterQuery(head) { _ = try? query.checkSelection() }
        guard let query = try? PlainQuery(head) else { return }
        for label in [query.topic, query.source, query.timeField] {
            try check((label?.utf8.count ?? 1) <= 128, "longer than SLS takes: \(label ?? "")")
            try check(label != "", "nothing, and given all the same")
        }
    }
}
