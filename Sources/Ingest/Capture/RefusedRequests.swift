package import HTTP
package import System

/// A refused request: its head and the reason, without its body.
package struct RefusedRequest: Sendable {
    /// Counts up from the start of the process.
    package var id = 0
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

/// The last refused requests, so that "why is my app refused" needs neither a capture nor a log of requests.
package final class RefusedRequests: Sendable {
    package static let countMax = 200
    /// A flood of refusals keeps no more than so many in a second, and counts the rest.
    private static let perSecond = 50

    private struct State {
        var ring: [RefusedRequest] = []
        var next = 0
        var second: Int64 = 0
        var inSecond = 0
        var missed = 0
    }

    private let state = Locked(State())

    package init() {}

    /// False while a flood goes on: the request is only counted.
    func hasRoom(at time: WallTime) -> Bool {
        state.withLock { state in
            if state.second != time.seconds { (state.second, state.inSecond) = (time.seconds, 0) }
            state.inSecond += 1
            guard state.inSecond > Self.perSecond else { return true }
            state.missed += 1
            return false
        }
    }

    func add(_ request: RefusedRequest) {
        state.withLock { state in
            var request = request
            request.id = state.next + 1
            if state.ring.count < Self.countMax {
                state.ring.append(request)
            } else {
                state.ring[state.next % Self.countMax] = request
            }
            state.next += 1
        }
    }

    /// Newest first.
    package var newest: [RefusedRequest] {
        state.withLock(\.ring).sorted { $0.id > $1.id }
    }

    /// Refused requests that were only counted.
    package var missed: Int { state.withLock(\.missed) }

    /// Keeps what may be kept of a refused request. `hidesLogs`: a filter redacts, so nothing is
    /// kept that may be part of a log.
    func note(
        _ head: RequestHead?,
        _ refusal: Refusal,
        as status: Int,
        _ sender: Sender,
        hidesLogs: Bool
    ) {
        let now = WallTime.now
        guard hasRoom(at: now) else { return }
        add(
            RefusedRequest(
                time: now,
                method: head?.methodText ?? "",
                path: head.map { head in
                    masked(head.pathText.utf8, to: 200) {
                        let path = String(decoding: $0, as: UTF8.self)
                        return Mask.path(path, hidesLogs: hidesLogs, isCut: $1)
                    }
                } ?? "",
                query: head.flatMap { head in
                    head.query.map { range in
                        masked(head.bytes[range], to: 500) {
                            Mask.query($0, hidesLogs: hidesLogs, isCut: $1)
                        }
                    }
                },
                address: sender.address ?? head?.peer.host ?? "",
                key: sender.key,
                status: status,
                code: refusal.code,
                reason: masked(refusal.reason.utf8, to: 500) { bytes, _ in
                    // It quotes texts whose ends are cut.
                    String(decoding: Mask.hidingSecrets(in: bytes, isCut: true), as: UTF8.self)
                },
                agent: head?.field("user-agent").map { agent in
                    guard !hidesLogs else { return Mask.redacted(Array(agent.utf8)) }
                    return masked(agent.utf8, to: 200) {
                        String(decoding: Mask.hidingSecrets(in: $0, isCut: $1), as: UTF8.self)
                    }
                },
                bytes: head?.declaredBodyBytes
            )
        )
    }

    /// The beginning of a text, masked. It is cut before, so that the work is bounded, but with room for a secret across
    /// the end of what is shown.
    private func masked(
        _ text: some Collection<UInt8>,
        to countMax: Int,
        _ mask: (_ beginning: [UInt8], _ isCut: Bool) -> String
    ) -> String {
        let beginning = Array(text.prefix(4 * countMax))
        return clipped(mask(beginning, beginning.count < text.count), to: countMax)
    }

    /// Who sent a refused request, as far as it is known.
    struct Sender {
        var address: String?
        var key: String?
    }
}

extension RequestHead {
    /// The method as it was sent.
    package var methodText: String {
        String(decoding: bytes.prefix { $0 != UInt8(ascii: " ") }.prefix(32), as: UTF8.self)
    }
}
