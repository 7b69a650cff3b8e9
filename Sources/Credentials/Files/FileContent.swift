import Crypto
import Glibc
import SLS
import System

extension SourceVisit {
    /// Reads the whole content of a small file.
    func fileContent(_ path: String) throws(SourceProblem) -> WipedBytes {
        let content = WipedBytes(countMax: 64 << 10)
        var isFile = true
        reading: do throws(SystemError) {
            let file = OwnedDescriptor(
                // O_NONBLOCK: a pipe without a writer must not block.
                taking: try system("open") { open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
            )
            var facts = stat()
            _ = try system("fstat") { fstat(file.number, &facts) }
            // A directory passes here, because read() then reports a clear error.
            isFile = [S_IFREG, S_IFDIR].contains(facts.st_mode & S_IFMT)
            guard isFile else { break reading }
            var chunk = [UInt8](repeating: 0, count: 16 << 10)
            defer { wipe(&chunk) }
            while true {
                let count = try system("read") { Glibc.read(file.number, &chunk, chunk.count) }
                if count == 0 { return content }
                guard chunk.withUnsafeBytes({ content.append(.init(rebasing: $0[..<count])) })
                else {
                    break
                }
            }
        } catch {
            throw SourceProblem(
                .temporary,
                "the file \(path) cannot be read: \(String(cString: strerror(error.code)))",
                remedy: "check that it exists and that the gateway may read it"
            )
        }
        throw SourceProblem(
            .permanent,
            "the file \(path) is \(isFile ? "larger than 64 KiB" : "not a regular file")",
            remedy: "name a file that holds a credential"
        )
    }
}
