import Configuration
import Glibc
import Logs
import Queue
import SLS
import System

/// Makes lines of JSON for a writer (`LineWriter`), and judges what became of them.
struct LineOutput: Output {
    let settings: Destination

    func bodyBytesMax(of lease: Lease) -> Int { jsonBytes(of: lease.packet) }

    /// Packets stay in their order.
    var encodesSlowly: Bool { false }

    func body(of packet: SealedPacket, _ blocks: [StoredBlock]) throws(Unsendable) -> PacketBody {
        let text = try json(of: packet, blocks, as: settings.shape, .lines)
        return PacketBody(pieces: [text[...]], rawBytes: text.count)
    }

    func work(
        for packet: SealedPacket,
        _ body: PacketBody,
        to endpoint: EndpointKey,
        by credential: Credential?,
        at time: WallTime
    ) -> CarrierWork {
        .lines(Array(body.pieces[0]))
    }

    func judge(
        _ outcome: CarrierOutcome,
        of attempt: Attempt,
        by credential: Credential?
    ) -> Judgement {
        guard case .lines(let problem) = outcome else {
            preconditionFailure("this output's carrier is another one")
        }
        return problem.map(Judgement.init) ?? .written
    }
}

extension Judgement {
    fileprivate static let written = Judgement(
        action: .acknowledge,
        kind: .other,
        result: .ok,
        message: "written",
        remedy: "none needed",
        traits: .answered
    )

    /// Nothing goes to the destination until a single packet gets through.
    fileprivate init(_ problem: WriteProblem) {
        self.init(
            action: .pause(.project),
            kind: .write,
            result: .writeError,
            code: problem.code,
            message: problem.message,
            remedy: problem.remedy
        )
    }
}

/// Puts lines where they stay. All calls come from one thread, which may block.
protocol LineWriter: AnyObject {
    /// Writes each text, which is whole lines; nil says that a text is safe. Returns soon once
    /// `isEnding` is true.
    func write(_ texts: [[UInt8]], isEnding: () -> Bool) -> [WriteProblem?]

    /// Does a piece of work that can wait; returns when to call again, nil for after a write.
    func tend() -> Duration?

    /// The settings have changed, or what is outside of them.
    func use(_ settings: Destination)
}

/// Why lines could not be written, and how an operator ends it.
struct WriteProblem: Error, Equatable {
    /// "ENOSPC", for looking up.
    let code: String
    let message: String
    let remedy: String
}

extension WriteProblem {
    /// `subject` is what the call was about, such as a path.
    init(_ error: SystemError, _ subject: String) {
        let known = Self.known.first { $0.number == error.code }
        self.init(
            code: known?.code ?? "errno \(error.code)",
            message: "\(subject): \(error)",
            remedy: known?.remedy ?? "look the error up in the manual of the system call"
        )
    }

    private static let known: [(number: CInt, code: String, remedy: String)] = [
        (ENOSPC, "ENOSPC", "free space on the file system, or lower rotate.bytes and rotate.keep"),
        (EDQUOT, "EDQUOT", "raise the disk quota of the gateway's user, or free space"),
        (EFBIG, "EFBIG", "set rotate.bytes below the file system's or the process's limit"),
        (EIO, "EIO", "check the disk: it could not read or write"),
        (EROFS, "EROFS", "the file system is mounted read-only: check the disk and mount it again"),
        (EACCES, "EACCES", "let the gateway's user write the file and its directory"),
        (EPERM, "EPERM", "let the gateway's user write the file and its directory"),
        (ENOENT, "ENOENT", "make the directory that path names; the gateway makes the file alone"),
        (ENOTDIR, "ENOTDIR", "a part of path is not a directory"),
        (EISDIR, "EISDIR", "path is a directory: name a file in it"),
        (ELOOP, "ELOOP", "path is a symbolic link: name the file itself"),
        (ENAMETOOLONG, "ENAMETOOLONG", "choose a shorter path"),
        (EMFILE, "EMFILE", "raise the limit of open files (ulimit -n)"),
        (ENFILE, "ENFILE", "raise the system's limit of open files (fs.file-max)"),
        (EPIPE, "EPIPE", "the reader has gone: start the gateway again with a reader"),
        (EBADF, "EBADF", "standard output is closed: start the gateway with one"),
    ]
}
