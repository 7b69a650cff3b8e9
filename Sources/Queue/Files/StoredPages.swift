import Glibc

/// The pages of a database as its log or else its file has them, for whoever cannot trust SQLite with them.
struct StoredPages: ~Copyable {
    let database: CInt
    let log: CInt
    let scan: LogScan?
    let pageBytes: Int
    /// Of the database's file.
    let bytes: Int

    init(_ directory: DataDirectory) {
        database = open(directory.database, O_RDONLY | O_CLOEXEC)
        log = open(directory.log, O_RDONLY | O_CLOEXEC)
        scan = log < 0 ? nil : LogScan(log)
        pageBytes = scan?.head.pageBytes ?? QueueTuning().pageBytes
        bytes = fileSize(directory.database) ?? 0
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
    func page(_ number: Int) -> [UInt8]? {
        guard let scan, let frame = scan.sound.last(where: { $0.page == number }) else {
            return LogScan.read(database, pageBytes, at: (number - 1) * pageBytes)
        }
        let bytes = LogScan.read(log, scan.head.frameBytes, at: frame.offset)
        return bytes.map { Array($0[LogScan.frameHeadBytes...]) }
    }
}
