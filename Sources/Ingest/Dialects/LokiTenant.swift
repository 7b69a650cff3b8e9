import HTTP
import Logs

/// The tenant of a push, `X-Scope-OrgID`. It becomes a tag.
struct LokiTenant {
    private static let tag = "__tenant_id__"
    private static let bytesMax = 150

    let name: String?

    init(_ head: RequestHead) throws(Refusal) {
        guard let name = head.field("x-scope-orgid"), !name.isEmpty else {
            self.name = nil
            return
        }
        guard name.utf8.count <= Self.bytesMax, name.utf8.allSatisfy(\.isOfTenant) else {
            throw Refusal(
                400,
                "ParameterInvalid",
                "X-Scope-OrgID names one tenant: up to \(Self.bytesMax) letters, digits and !-_.*'()"
            )
        }
        self.name = name
    }

    func mark(_ stream: inout TrackedLogs) {
        guard let name, !stream.tags.contains(where: { $0.key.hasSameBytes(as: Self.tag) }) else {
            return
        }
        stream.tags.append((Self.tag, name))
    }
}

extension UInt8 {
    fileprivate var isOfTenant: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "!"), UInt8(ascii: "-"),
            UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "*"), UInt8(ascii: "'"),
            UInt8(ascii: "("), UInt8(ascii: ")"):
            true
        default: false
        }
    }
}
