import Configuration
import HTTP
import System

/// The origins whose pages may send, and the CORS answer.
///
/// A key's own list replaces the common list. Before the key is known, in a preflight or a refusal,
/// an origin is accepted when any of the lists has it. Requests without an origin pass: images have
/// none, and clients that are not browsers can claim any. So these rules only keep other pages from
/// using a key that is in a page. An object, as `DeviceAccess`.
final class OriginRules: Sendable {
    private let common: OriginList
    private let all: OriginList
    /// True: every page may send, so nothing is checked.
    let isOpen: Bool

    /// `own` are the lists of all keys, nil for keys without a list; empty when every device may
    /// send.
    init(common: OriginList, own: [OriginList?]) {
        let lists = own.isEmpty ? [common] : own.map { $0 ?? common }
        self.common = common
        all = OriginList.union(lists)
        isOpen = lists.allSatisfy(\.isAny)
    }

    func check(
        _ head: RequestHead,
        _ sender: DeviceSender?,
        _ label: DeviceLabel
    ) throws(Refusal) {
        guard !isOpen, let origin = head.field("origin") else { return }
        guard !(sender?.origins ?? common).allows(origin) else { return }
        sender?.counter.refused.count(.origin)
        throw .origin(origin, label)
    }

    /// Checks the origin of a preflight.
    func check(_ head: RequestHead, _ label: DeviceLabel) throws(Refusal) {
        guard !isOpen, let origin = head.field("origin"), !all.allows(origin) else { return }
        throw .origin(origin, label)
    }

    /// Who may read the answer to a request; the head is nil when it could not be read.
    func answer(to head: RequestHead?) -> CrossOrigin {
        guard let origin = head?.field("origin"), origin.isOrigin else {
            return all.isAny ? .any : .nobody
        }
        return all.allows(origin) ? .only(origin) : .nobody
    }
}

/// The pages that may read an answer.
///
/// The answer names an accepted origin and allows credentials: beacons always send them, and a
/// browser that gets `*` drops those that need a preflight, as every beacon with JSON does. This
/// gives a page nothing. The gateway sets and reads no cookies, never asks a browser for a
/// password, and its answers hold only a receipt for what the page itself sent. A client
/// certificate is sent also with requests that need no preflight; lists of origins keep other pages
/// from using it.
enum CrossOrigin: Sendable, Equatable {
    /// Every page may send, and the request names no origin.
    case any
    case only(String)
    case nobody

    func add(to response: inout Response) {
        switch self {
        // The stamp writes these fields, in one piece.
        case .any: return response.isForAnyPage = true
        case .only(let origin):
            response.fields += [
                ("access-control-allow-origin", origin),
                ("access-control-allow-credentials", "true"),
            ]
        case .nobody: break
        }
        // Caches must not give one page the answer to another.
        response.fields.append(("vary", "Origin"))
    }
}

extension String {
    /// True for text that a browser may send as an origin. Only such text is repeated in an answer.
    fileprivate var isOrigin: Bool {
        (1...300).contains(utf8.count) && utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}

/// The header fields that a page may send beyond those that browsers always allow, for the answer
/// to a preflight.
struct PreflightHeaders: Sendable {
    /// The value of `Access-Control-Allow-Headers`.
    let names: String

    private static let common = [
        "authorization", "content-encoding", "content-md5", "content-type", "idempotency-key",
        "x-log-bodyrawsize", "x-log-client-time", "x-log-compresstype", "x-log-logstore",
        "x-log-project", "x-sluice-key", "x-sluice-signature",
        // Tracing libraries and frameworks add these to every request of a page.
        "baggage", "sentry-trace", "traceparent", "tracestate", "x-requested-with",
    ]
    private static let own: [(dialect: AcceptedDialects, names: [String])] = [
        (
            .sls,
            [
                "x-acs-security-token", "x-log-apiversion", "x-log-content-sha256", "x-log-date",
                "x-log-mode", "x-log-signaturemethod",
            ]
        ),
        (.loki, ["x-scope-orgid"]),
        (.splunk, ["x-splunk-request-channel"]),
    ]

    /// `more` are those of `devices.cors.headers`.
    init(_ dialects: AcceptedDialects, _ more: [String]) {
        let own = Self.own.filter { dialects.contains($0.dialect) }.flatMap(\.names)
        names = Set(Self.common + own + more).sorted().joined(separator: ", ")
    }
}
