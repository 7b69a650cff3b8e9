import Configuration
import HTTP
import System

/// Which pages may send, and what browsers are told of it.
///
/// A key's own list counts in place of that for all. Before the key is known, for a preflight and for what is refused,
/// an origin is one that any of the lists allows. What a request without an origin is, is not decided here: pictures and
/// all that is no browser have none, and whoever is no browser can say what it likes. So this keeps other pages from
/// using a key that stands in one, and nobody else.
struct OriginRules: Sendable {
    private let common: OriginList
    private let all: OriginList
    /// Whether every page may do everything: then nobody looks.
    let isOpen: Bool

    /// `own` are the lists of all keys, nil of those without; none where everybody may send.
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
        sender?.counter.countRefused(.origin)
        throw .origin(origin, label.isSLS)
    }

    /// What a preflight asks.
    func check(_ head: RequestHead, _ label: DeviceLabel) throws(Refusal) {
        guard !isOpen, let origin = head.field("origin"), !all.allows(origin) else { return }
        throw .origin(origin, label.isSLS)
    }

    /// What the answer to a request says about who may read it; the head is nil when it could not be read.
    func answer(to head: RequestHead?) -> CrossOrigin {
        guard let origin = head?.field("origin"), origin.isOrigin else {
            return all.isAny ? .any : .nobody
        }
        return all.allows(origin) ? .only(origin) : .nobody
    }
}

/// What browsers are told of who may read an answer.
///
/// A page whose origin may send is named itself, and may send credentials: beacons always do, and a browser that is told
/// `*` drops one that needs a preflight, as each with JSON does. That gives a page nothing. The gateway sets no cookies
/// and reads none, never asks a browser for a name and a password, and its answers hold nothing of anybody but a receipt
/// for what the page itself sent. A client certificate is sent with requests that need no preflight, too; keeping other
/// pages from those is what lists of origins are for.
enum CrossOrigin: Sendable, Equatable {
    /// Every page may send, and the request says none.
    case any
    case only(String)
    case nobody

    func add(to response: inout Response) {
        switch self {
        case .any: response.fields.append(("access-control-allow-origin", "*"))
        case .only(let origin):
            response.fields += [
                ("access-control-allow-origin", origin),
                ("access-control-allow-credentials", "true"),
            ]
        case .nobody: break
        }
        // Caches must not show to one page what was for another.
        response.fields.append(("vary", "Origin"))
    }
}

extension String {
    /// Whether a browser may have written it as an origin. Only that is repeated in an answer.
    fileprivate var isOrigin: Bool {
        (1...300).contains(utf8.count) && utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}

extension Refusal {
    /// As for a destination that a key is not for.
    static func origin(_ origin: String, _ isSLS: Bool) -> Refusal {
        Refusal(
            isSLS ? 401 : 403,
            "Unauthorized",
            "pages of \(clipped(origin)) may not send here; see devices.cors.origins, and origins of "
                + "devices.keys"
        )
    }
}
