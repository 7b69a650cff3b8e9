import Queue
import System

/// The damaged databases that are kept.
final class DamagedCopies {
    private let directory: DataDirectory
    private let room: DiskRoom
    private let journal: Journal
    private(set) var count = 0
    /// Bytes of the copies that are never deleted, because they may have the only copy of logs.
    private(set) var unsavedBytes = 0
    /// The copies that the journal named last.
    private var told: [String] = []
    private(set) var deletedCount = 0

    init(_ directory: DataDirectory, _ room: DiskRoom, _ journal: Journal) {
        self.directory = directory
        self.room = room
        self.journal = journal
    }

    /// Deletes damaged databases whose readable content is in the queue, oldest first. Returns true
    /// if it deleted any.
    @discardableResult
    func trim(to most: Int, atMost limit: Int = .max, beside store: OpenStore?) -> Bool {
        let deleted = directory.removeDamagedCopies(
            keeping: most,
            atMost: limit,
            inUse: (store?.acknowledgements.remainders ?? []).map(\.file)
        )
        for aside in deleted {
            deletedCount += 1
            journal.warning(
                "a kept damaged database is deleted; the queue has all its readable logs",
                ["deleted": aside, "free_bytes": room.freeBytes]
            )
        }
        recount(beside: store)
        return !deleted.isEmpty
    }

    /// Counts the copies. The journal names each copy that stays for ever and from which the queue
    /// copies nothing. An operator has to delete it: only a person can decide that its logs are not
    /// needed.
    func recount(beside store: OpenStore?) {
        count = directory.damagedCopies.count
        let unsaved = directory.unsavedCopies
        unsavedBytes = unsaved.reduce(0) { $0 + directory.bytes(of: $1) }
        guard let store else { return }
        let inUse = Set(store.acknowledgements.remainders.map(\.file))
        let left = unsaved.filter { !inUse.contains(directory.name(of: $0)) }
        defer { told = left }
        guard !left.isEmpty, left != told else { return }
        journal.warning(
            "damaged databases are kept that may have the only copy of logs; the gateway never deletes them",
            [
                "files": left.map(directory.name).joined(separator: " "), "bytes": unsavedBytes,
                "free_bytes": room.freeBytes,
                "remedy": "check the disk and copy them elsewhere; "
                    + "then delete each with the file …-unsaved beside it",
            ]
        )
    }
}
