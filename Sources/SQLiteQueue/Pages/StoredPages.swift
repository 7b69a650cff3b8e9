import Glibc

/// The pages of a database, from its log or else from its file, for repairs that cannot rely on
/// SQLite.
struct StoredPages: ~Copyable {
    let database: CInt
    let log: CInt
    let scan: WALScan?
    let pageBytes: Int
    /// Size of the database's file.
    let bytes: Int
    /// The place in the log of the last version of each page.
    private let places: [Int: Int]

    /// The log's pages that count.
    enum Version {
        /// All sound pages.
        case stored
        /// The pages that SQLite reads: up to the last transaction before the first damaged frame.
        case asRead
    }

    init(_ directory: DataDirectory) { self.init(of: directory.database, .stored) }

    /// The value must outlive each connection to the same file in this process: closing any
    /// descriptor of a file releases all locks of the process on it.
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

    /// The number of pages after the last transaction.
    var count: Int {
        scan?.sound.last.map { Int($0.commit) } ?? (bytes + pageBytes - 1) / pageBytes
    }

    /// SQLite takes a file of one byte for an empty one, and removes the log of an empty one.
    var isLogAlone: Bool { bytes <= 1 && scan?.sound.isEmpty == false }

    /// Nil if the page cannot be read.
    func page(_ number: Int) -> [UInt8]? { read(number, pageBytes) }

    /// The first byte gives the kind of most pages.
    func firstByte(_ number: Int) -> UInt8? { read(number, 1)?[0] }

    private func read(_ number: Int, _ count: Int) -> [UInt8]? {
        // SQLite's page numbers have 32 bits.
        guard 1...Int(UInt32.max) ~= number else { return nil }
        guard let frame = places[number] else {
            return WALScan.read(database, count, at: (number - 1) * pageBytes)
        }
        return WALScan.read(log, count, at: frame + WALScan.frameHeadBytes)
    }
}
