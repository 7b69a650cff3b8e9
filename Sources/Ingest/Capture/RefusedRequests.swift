package import HTTP
package import System

/// A refused request: its head and the reason, without its body.
package struct RefusedRequest: Sendable {
    /// Counts up from the start of the process.
    package let id: Int
    package let time: WallTime
    package let method: String
    package let path: String
    /// Without the values of secrets.
    package let query: String?
    package let address: String
    /// The name of the device's key, where it was known.
    package let key: String?
    package let status: Int
    package let code: String
    package let reason: String
    package let agent: String?
    /// The declared size of the body; nil where it was not declared.
    package let bytes: Int?
}

/// The last refused requests, so that "why is my app refused" needs neither a capture nor a log of
/// requests.
package final class RefusedRequests: Sendable {
    package static let countMax = 200
    /// A flood of refusals keeps no more than so many in a second, and counts the rest.
    private static let perSecond = 50

    private struct State {
        /// By id, modulo `countMax`.
        var kept: [Int: RefusedRequest] = [:]
        var lastID = 0
        var second: Int64 = 0
        var inSecond = 0
        var missed = 0
    }

    private let state = Locked(State())

    package init() {}

    /// The next request's id. nil while a flood goes on: the request is only counted.
    private func takeID(at time: WallTime) -> Int? {
        state.withLock { state in
            if state.second != time.seconds { (state.second, state.inSecond) = (time.seconds, 0) }
            state.inSecond += 1
            guard state.inSecond <= Self.perSecond else {
                state.missed += 1
                return nil
            }
            state.lastID += 1
            return state.lastID
        }
    }

    /// Newest first.
    package var newest: [RefusedRequest] {
        state.withLock(\.kept).values.sorted { $0.id > $1.id }
    }

    /// Refused requests that were only counted.
    package var missed: Int { state.withLock(\.missed) }

    /// Keeps what may be kept of a refused request. `hidesLogs`: a filter redacts, so nothing is
    /// kept that may be part of a log.
    func keep(
        _ head: RequestHead?,
        _ refusal: Refusal,
        as status: Int,
        address: String? = nil,
        key: String?,
        hidesLogs: Bool
    ) {
        let time = WallTime.now
        guard let id = takeID(at: time) else { return }
        let request = RefusedRequest(
            id: id,
            time: time,
            method: head?.shownMethod ?? "",
            path: head.map { head in
                masked(head.pathText.utf8, to: 200) {
                    Mask.path($0, hidesLogs: hidesLogs, isCut: $1)
                }
            } ?? "",
            query: head.flatMap { head in
                head.query.map { range in
                    let (beginning, isCut) = (head.bytes[range].prefix(2000), range.count > 2000)
                    return clipped(
                        Mask.query(beginning, hidesLogs: hidesLogs, isCut: isCut),
                        to: 500
                    )
                }
            },
            address: address ?? head?.peer.host ?? "",
            key: key,
            status: status,
            code: refusal.code,
            // It quotes texts whose ends are cut.
            reason: masked(refusal.reason.utf8, to: 500) { text, _ in
                Mask.hidingSecrets(in: text, isCut: true)
            },
            agent: head?.field("user-agent").map { agent in
                hidesLogs
                    ? Mask.redacted(agent.utf8) : masked(agent.utf8, to: 200, Mask.hidingSecrets)
            },
            bytes: head?.declaredBodyBytes
        )
        state.withLock { $0.kept[id % Self.countMax] = request }
    }

    /// The beginning of a text, masked. It is cut before, so that the work is bounded, but with
    /// room for a secret across the end of what is shown. `mask` is told if it was cut.
    private func masked(
        _ text: some Collection<UInt8>,
        to countMax: Int,
        _ mask: (String, Bool) -> String
    ) -> String {
        let beginning = String(decoding: text.prefix(4 * countMax), as: UTF8.self)
        return clipped(mask(beginning, text.count > 4 * countMax), to: countMax)
    }
}

extension RequestHead {
    /// The method as it was sent.
    package var methodText: String { methodText(atMost: 32) }

    /// The method without secrets: some clients begin their first line with a key.
    var shownMethod: String {
        Mask.hidingSecrets(in: methodText(atMost: 512), isCut: true).prefix(bytes: 32)
    }

    private func methodText(atMost count: Int) -> String {
        String(decoding: bytes.prefix(count).prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self)
    }
}
