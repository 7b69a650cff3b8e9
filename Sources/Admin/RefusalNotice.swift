import Configuration
import HTTP
import System

/// Reports a refused change in the journal: the attempt and its actor, not the reason, which may repeat parts of the
/// request.
struct RefusalNotice: Sendable {
    private let head: RequestHead
    private let holder: AdminHolder?
    private let journal: Journal

    init(_ head: RequestHead, _ holder: AdminHolder?, _ journal: Journal) {
        self.head = head
        self.holder = holder
        self.journal = journal
    }

    func tell(_ status: Int) {
        guard let holder else { return }
        journal.warning(
            "a change by an operator was refused",
            [
                "actor": holder.name(at: head.peer), "address": head.peer.host,
                "method": "\(head.method)", "path": clipped(head.pathText, to: 160),
                "status": "\(status)",
            ]
        )
    }
}
