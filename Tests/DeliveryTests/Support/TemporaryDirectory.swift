import Glibc
import System

/// A directory of its own for a test.
struct TemporaryDirectory {
    let path: String

    init() throws {
        var template = Array("/tmp/sluice-delivery-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SystemError(call: "mkdtemp", code: errno) }
        path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Removes it with what is in it; there are no directories below.
    func remove() {
        if let directory = opendir(path) {
            while let entry = readdir(directory) {
                let name = withUnsafeBytes(of: entry.pointee.d_name) { name in
                    String(decoding: name.prefix { $0 != 0 }, as: UTF8.self)
                }
                unlink("\(path)/\(name)")
            }
            closedir(directory)
        }
        rmdir(path)
    }
}
