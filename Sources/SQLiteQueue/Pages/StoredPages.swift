import Glibc

/// The pages of a database as its log or else its file has them, for repairs that cannot trust SQLite with them.
struct StoredPages: ~Copyable {
    let database: CInt
    let log: CInt
    let scan: WALScan?
    let pageBytes: Int
    /// Size of the database's file.
    let bytes: Int
    /// Where the log has the last of each page.
    private let places: [Int: Int]

    /// Which of the log's pages count.
    enum Version {
        /// All that are sound.
        case stored
        /// Those that SQLite reads: up to the last transaction before the first that is damaged.
        case asRead
    }

    init(_ directory: DataDirectory) { self.init(of: directory.database, .stored) }

    /// It must outlive each connection to the same file in this process: to close any descriptor of a file gives up all locks
    /// that the process has on it.
    init(of database: String, _ version: Version) {
        self.database = open(database, O_RDONLY | O_CLOEXEC)
        log = open(database + "-wal", O_RDONLY | O_CLOEXEC)
        let scan = log < 0 ? nil : WALScan(log)
        self.scan = scan
        pageBytes = scan?.head.pageBytes ?? QueueTuning().pageBytes
        bytes = fileSize(database) ?? 0
        let read = scan.map { $0.isHeadRebuilt ? 0 : $0.provenEnd } ?? 0
        let end = version == .asRead ? read : Int.max
        let logged = (scan?.sound ?? []).lazy.filter { $0.offset < end }
        places = Dictionary(logged.map { (Int($0.page), $0.offset) }) { $1 }
    }

    deinit {
        for number in [database, log] where number >= 0 { close(number) }
    }

    /// As of the last transaction.
    var count: Int {
        scan?.sound.last.map { Int($0.commit) } ?? (bytes + pageBytes - 1) / pageBytes
    }

    /// SQLite takes a file of one byte for an empty one, and removes the log of an empty one.
    var isLogAlone: Bool { bytes <= 1 && scan?.sound.isEmpty == false }

    /// Nil where there is none any more.
    func page(_ number: Int) -> [UInt8]? { read(number, pageBytes) }

    /// What kind of page it is, for most of them.
    func firstByte(_ number: Int) -> UInt8? { read(number, 1)?[0] }

    private func read(_ number: Int, _ count: Int) -> [UInt8]? {
        // There are no more.
        guard 1...Int(UInt32.max) ~= number else { return nil }
        guard let frame = places[number] else {
            return WALScan.read(database, count, at: (number - 1) * pageBytes)
        }
        return WALScan.read(log, count, at: frame + WALScan.frameHeadBytes)
    }
}
